"""Survival of verdicts about a model on other data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.judge.verdicts import verdicts
from regard.records import Json, Judgement, Verdict, encoded
from regard.store.judgements import keep_shift
from regard.store.run import Run

FOLDER = "shift"
"""Inside a run: the run of the same audit on other data."""
FATES = ("survives", "falls", "open there", "open here", "open")


def surviving(here: Sequence[Judgement], there: Sequence[Judgement]) -> list[Json]:
    """Compare each attention judged on both data sets: the two readings, and the fate of every verdict.

    A verdict survives if it is the same and established (not uninformative) on both; it falls if another one is
    established there. What is open on one side is said to be so: no evidence of a change is no evidence of none.
    """
    found: list[Json] = []
    for first, second in _pairs(here, there):
        other = {v.question: v for v in second.verdicts}
        rows: list[Json] = [
            {
                "question": v.question,
                "here": v.answer,
                "there": w.answer,
                "fate": _fate(v, w),
                "said there": encoded(w.sentence),
            }
            for v in first.verdicts
            if (w := other.get(v.question)) is not None
        ]
        sure = "undecided" not in (first.reading, second.reading)
        same = first.reading == second.reading and first.classes == second.classes
        fate = ("survives" if same else "falls") if sure else "open there" if first.reading != "undecided" else "open"
        found.append(
            {
                "attention": encoded(first.attention),
                "here": first.reading,
                "there": second.reading,
                "fate": fate,
                "classes": [[*first.classes], [*second.classes]],
                "n": [first.n, second.n],
                "questions": rows,
            }
        )
    return found


def _pairs(here: Sequence[Judgement], there: Sequence[Judgement]) -> list[tuple[Judgement, Judgement]]:
    """Pair attentions by identity; where each side has only one, pair these two whatever their names."""
    if len(here) == len(there) == 1:
        return [(here[0], there[0])]
    by_attention = {j.attention: j for j in there}
    return [(j, by_attention[j.attention]) for j in here if j.attention in by_attention]


def _fate(here: Verdict, there: Verdict) -> str:
    open_ = here.answer == "uninformative", there.answer == "uninformative"
    if any(open_):
        return "open" if all(open_) else "open here" if open_[0] else "open there"
    return "survives" if here.answer == there.answer else "falls"


def shift_of(run: Run | str | Path, *, keep: bool = False) -> dict[str, Json] | None:
    """Return the fate of the verdicts of a run on the shifted data stored beside it; None where there are none.

    keep: write it into the run, where the report finds it.
    """
    first_run = run if isinstance(run, Run) else Run(run)
    place = first_run.path / FOLDER
    if not (place / "ledger.sqlite").is_file():
        return None
    other = Run(place)
    facts: dict[str, Json] = {
        "data": [str(first_run.manifest["data"]["name"]), str(other.manifest["data"]["name"])],
        "accuracy": [_accuracy(first_run), _accuracy(other)],
        "run": FOLDER,
        "fates": list(FATES),
        "attentions": surviving(verdicts(first_run), verdicts(other)),
    }
    if keep:
        keep_shift(first_run.path, facts)
    return facts


def _accuracy(run: Run) -> float | None:
    """Return the share of right decisions, where labels are known."""
    labelled = [e for e in run.examples() if e["label"] is not None and e["predicted"] is not None]
    return round(sum(str(e["label"]) == str(e["predicted"]) for e in labelled) / len(labelled), 4) if labelled else None
