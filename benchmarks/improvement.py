"""`python -m benchmarks.improvement`: what `regard improve` makes of a BiLSTM on the review sentences, five seeds.

Trains the network without and with each recipe on seeds 0 to 4, then attacks and explains the same test sentences
before and after; goes on where it was stopped (in the cache). Strengths were chosen on the dev split with seed 0; the
test split decided nothing. Writes results/improvement.json (command, commit, every row of the table).

Two questions, each answered by the figures: does a recipe lower the success of the greedy attack significantly, and
does adversarial training of attention raise the agreement of attention with gradients, both at a cost of at most one
point of clean accuracy (mean over seeds)? The answers are a finding, not a bar: docs/improving.md says what they are
and why. Exit code 1 where they are no longer those that are written there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.__main__ import commit
from regard.improve.improve import Improvement, improve
from regard.training.cache import cache_directory
from regard.training.train import train

HERE = Path(__file__).parent
NETWORK = "classifier:encoder=bilstm,attention=additive,size=50,hidden=32,spread=0.2"
SETTINGS = {"epochs": 2}
LIMIT = 4500
"""A smaller network, fewer epochs and sentences than usual: twenty equal trainings must be affordable."""
RECIPES = ("adversarial", "attention-adversarial")
SEEDS, EXAMPLES, BUDGET = 5, 100, 40
MOST_LOST = 0.01


def measured(recipes: tuple[str, ...] = RECIPES) -> Improvement:
    home = cache_directory() / "improvement"
    train(NETWORK, "reviews", out=home / "base", settings=SETTINGS)
    return improve(
        str(home / "base"), recipes, "reviews", out=home / "arms", seeds=SEEDS, examples=EXAMPLES, budget=BUDGET,
        limit=LIMIT,
        announce=lambda sentence: print(sentence, flush=True),
        tell=lambda what, done, whole: print(f"looking at {what} ({done}/{whole})", flush=True),
    )  # fmt: skip


def answers(found: Improvement) -> dict[str, bool]:
    """The two questions."""

    def cheap(arm: str) -> bool:
        return found.row(arm, "accuracy").difference >= -MOST_LOST

    sturdier = [a for a in RECIPES if found.row(a, "attack_success").verdict == "better" and cheap(a)]
    agreeing = found.row("attention-adversarial", "gradient_agreement")
    return {
        "a recipe lowers the success of the greedy attack": bool(sturdier),
        "attention-adversarial raises agreement with gradients": agreeing.verdict == "better"
        and cheap("attention-adversarial"),
    }


def main() -> int:
    found = measured()
    for (arm, against), rows in found.comparisons.items():
        print(f"{arm} (before: {against}), {len(found.seeds)} seeds")
        for row in rows:
            print(f"  {row.sentence()}; p {row.corrected:.3f}, {row.seeds_better} of {row.seeds} seeds, n={row.n}")
    told = answers(found)
    for question, yes in told.items():
        print(f"{'ok  ' if yes else 'MISS'} {question}")
    record = {"command": "python -m benchmarks.improvement", "commit": commit(), "answers": told, **found.to_json()}
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "improvement.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return int(not all(told.values()))


if __name__ == "__main__":
    sys.exit(main())
