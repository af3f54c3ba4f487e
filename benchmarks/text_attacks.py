"""`python -m benchmarks.peer_methods textattack`: attacks on texts beside the offline recipes of TextAttack.

Both sides get the same MiniLM classifier, the same review sentences and the same budget of queries.

- DeepWordBug against `greedy_char`: both rank words by leaving them out, then try four misspellings of one word after
  the other; which four is drawn.
- Pruthi2019 against `enumeration` of misspellings: every misspelling of one word, its first and last letter stay.
  TextAttack draws the inserted letters and skips words below four letters; ours inserts letters of neighbouring keys
  and skips words below three. The two lists of stop words differ.
- InputReduction against `input_reduction`: delete words while the prediction stays. TextAttack ranks the words once,
  and takes the positions of the ranking in the text that is already shorter; ours ranks anew after each word.

The sentences are attacked in groups, both sides in turn on each group, so that the ratio of CPU times has an interval
over the groups; shares have Wilson's intervals, differences paired ones.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from benchmarks import peer_standins
from benchmarks.lines import Line, peak_memory_mb
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.measures.intervals import wilson
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example, Threat

TEXTS, GROUP = 12, 2
DRAWS = 2000


@dataclass(frozen=True)
class Recipe:
    """One recipe of TextAttack and our nearest attack. reduces: it deletes words instead of flipping the prediction."""

    module: str
    name: str
    ours: str
    budget: int
    reduces: bool = False


RECIPES = (
    Recipe("deepwordbug_gao_2018", "DeepWordBugGao2018", "greedy_char:many=4", 200),
    Recipe("pruthi_2019", "Pruthi2019", "enumeration:words=1,source=misspellings,many=1000", 1000),
    Recipe("input_reduction_feng_2018", "InputReductionFeng2018", "input_reduction:left=1", 1000, reduces=True),
)


@dataclass
class Outcome:
    """Results by sentence (values: whether it flipped, or how many words remain) and CPU seconds by group."""

    values: list[float]
    queries: list[int]
    seconds: list[float]


def lines() -> list[Line]:
    """Return a line for each recipe."""
    library = peer_standins.textattack()
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from regard.sources.minilm import minilm

    path = minilm()
    tokenizer, module = AutoTokenizer.from_pretrained(path), AutoModelForSequenceClassification.from_pretrained(path)

    class Wrapper(library.models.wrappers.ModelWrapper):  # type: ignore[misc, name-defined]
        model = module.eval()

        def __call__(self, texts: list[str]) -> Any:
            with torch.inference_mode():
                return module(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits

    torch.set_num_threads(1)
    model = load(path)
    examples = [Example(e.id, e.inputs) for e in read("reviews", split="test", limit=TEXTS)]
    return [compared(recipe, library, Wrapper(), model, examples) for recipe in RECIPES]


def compared(recipe: Recipe, library: Any, wrapper: Any, model: Model, examples: Sequence[Example]) -> Line:
    """Attack the sentences by both sides, group by group; the first group runs once before, unmeasured."""
    count_words = library.shared.utils.words_from_text
    attack = getattr(importlib.import_module(f"textattack.attack_recipes.{recipe.module}"), recipe.name).build(wrapper)
    attack.goal_function.query_budget = recipe.budget
    targets = [int(str(target)) for target in DeskCase(Desk(model), examples).targets]

    def theirs(rows: Sequence[int]) -> list[tuple[float, int]]:
        results = [attack.attack(str(examples[i].inputs["text"]), targets[i]) for i in rows]
        if recipe.reduces:
            return [
                (len(result.perturbed_result.attacked_text.words), int(result.num_queries))
                if result.perturbed_result.output == targets[i]
                else (float("nan"), int(result.num_queries))
                for i, result in zip(rows, results, strict=True)
            ]
        success = library.attack_results.SuccessfulAttackResult
        return [(float(isinstance(result, success)), int(result.num_queries)) for result in results]

    def ours(rows: Sequence[int]) -> list[tuple[float, int]]:
        case = DeskCase(Desk(model), [examples[i] for i in rows])
        records = attacked(case, recipe.ours, Threat(budget=recipe.budget))
        if recipe.reduces:
            texts = [str((one.example or examples[i]).inputs["text"]) for i, one in zip(rows, records, strict=True)]
            return [(len(count_words(text)), one.queries) for text, one in zip(texts, records, strict=True)]
        return [(float(one.status == "success"), one.queries) for one in records]

    sides = {"ours": (ours, Outcome([], [], [])), "textattack": (theirs, Outcome([], [], []))}
    random.seed(0)  # which letters it draws
    np.random.seed(0)
    groups = [range(start, min(start + GROUP, len(examples))) for start in range(0, len(examples), GROUP)]
    for measured, rows in [(False, groups[0]), *((True, group) for group in groups)]:
        for call, outcome in sides.values():
            start = time.process_time()
            pairs = call(rows)
            if measured:
                outcome.seconds.append(time.process_time() - start)
                outcome.values += [value for value, _ in pairs]
                outcome.queries += [queries for _, queries in pairs]
    return line(recipe, sides["ours"][1], sides["textattack"][1])


def line(recipe: Recipe, ours: Outcome, peer: Outcome) -> Line:
    """Summarise both sides: success, agreement, queries and CPU time, with intervals."""
    detail: dict[str, float | str] = {}
    for name, side in (("ours", ours), ("textattack", peer)):
        values = np.array(side.values)
        if recipe.reduces:
            detail[f"words left, {name}"] = _mean(values)
            detail[f"at most 2 words left, {name}"] = _share(values <= 2)
        else:
            detail[f"flipped, {name}"] = _share(values == 1)
        detail[f"queries, {name}"] = _mean(side.queries)
        detail[f"{name} s"] = round(sum(side.seconds), 2)
    difference = np.array(ours.values) - np.array(peer.values)
    detail |= {"difference, ours - textattack": _mean(difference), "same outcome": _share(difference == 0)}
    ratio = partial(_ratio, np.array(ours.seconds), np.array(peer.seconds))
    picks = np.random.default_rng(0).integers(len(ours.seconds), size=(DRAWS, len(ours.seconds)))
    low, high = np.quantile([ratio(pick) for pick in picks], (0.025, 0.975))
    detail["CPU time, ours / textattack"] = f"{ratio(np.arange(len(ours.seconds))):.2f} [{low:.2f}, {high:.2f}]"
    detail["peak MB"] = peak_memory_mb()
    n, about = len(ours.values), f"at most {recipe.budget} queries"
    mean = (float(np.nanmean(ours.values)), float(np.nanmean(peer.values)))
    if recipe.reduces:
        what = f"input reduction, {n} sentences (MiniLM), {about}: words left, ours / {recipe.name} of TextAttack"
        return Line(what, mean[0] / max(mean[1], 1e-9), 1.0, "<=", detail)
    what = f"misspellings, {n} sentences (MiniLM), {about}: flips, {recipe.ours.partition(':')[0]} / {recipe.name}"
    return Line(what + " of TextAttack", mean[0] / max(mean[1], 1e-9), 0.9, ">=", detail)


def _ratio(ours: NDArray[np.float64], peer: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    return float(ours[rows].sum() / peer[rows].sum())


def _share(flags: ArrayLike) -> str:
    """Return "k of n [interval]"."""
    marks = np.asarray(flags, bool)
    low, high = wilson(int(marks.sum()), len(marks))
    return f"{int(marks.sum())} of {len(marks)} [{float(low):.2f}, {float(high):.2f}]"


def _mean(values: ArrayLike) -> str:
    """Return "mean [interval]" by a bootstrap over the sentences."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    picks = np.random.default_rng(0).integers(len(known), size=(DRAWS, len(known)))
    low, high = np.quantile(known[picks].mean(1), (0.025, 0.975))
    return f"{known.mean():.2f} [{low:.2f}, {high:.2f}]"
