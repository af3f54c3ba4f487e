"""Shapes of all JSON in a run: facts, examples, shard results, attention."""

from __future__ import annotations

import re
from typing import Any, get_args

from regard.errors import phrase
from regard.records import Answer, Reading
from regard.store.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    NUMBER_OR_NAN,
    SCALAR,
    TEXT,
    WHOLE,
    Mismatch,
    Shape,
    choice,
    either,
    listed,
    named,
    optional,
    record,
    row,
    table,
)


def _all(shape: Shape, names: str) -> dict[str, Shape]:
    """Fields of one shape."""
    return dict.fromkeys(names.split(), shape)


BETTER = choice("higher", "lower", "none")
ROLE = choice("method", "baseline", "ceiling", "null")
STATUS = choice("running", "complete", "interrupted")
TEXTS = listed(TEXT)
WORDS = either(record({"message": TEXT}, {"params": table(ANYTHING)}), TEXT)
"""A message, or plain text from a foreign exception or an older run."""
SPEC = record({"kind": TEXT, "name": TEXT}, {"params": table(ANYTHING)})
SPECS = listed(SPEC)
PLACES = listed(listed(NUMBER))
_MAYBE_NUMBER = optional(NUMBER)
_NUMBER_OR_NULL = optional(NUMBER_OR_NAN)
_FREE = table(ANYTHING)

_QUANTITY = record(
    {"quantity": TEXT, "verdict": TEXT, "n": COUNT},
    {**_all(_MAYBE_NUMBER, "before after difference low high corrected p"), "seeds": COUNT},
)
_CANDIDATE = record({"parts": TEXTS, "accuracy": NUMBER, "share": optional(NUMBER)})
_SEARCH = record(
    {
        "budget": TEXT,
        **_all(COUNT, "passes n possible"),
        "seed": WHOLE,
        "plain": _CANDIDATE,
        "tried": listed(_CANDIDATE),
        "best": TEXTS,
    }
)
_IMPROVEMENT = record(
    {
        "arm": TEXT,
        "what": WORDS,
        "seeds": listed(ANYTHING),
        "comparisons": listed(record({"against": TEXT, "rows": listed(_QUANTITY)})),
        "plan": record({"learned_noises": TEXTS, "other_noises": TEXTS, "attack": optional(TEXT)}),
    },
    {"search": _SEARCH},
)
_MODEL = record(
    {"name": TEXT},
    {
        **_all(TEXT, "source fingerprint task"),
        "labels": optional(listed(SCALAR)),
        "operators": TEXTS,
        "spec": optional(SPEC),
        "family": optional(_FREE),
        "improvement": optional(_IMPROVEMENT),
        "files": optional(TEXT),
    },
)
_DATA = record(
    {"name": TEXT},
    {"source": TEXT, "fingerprint": TEXT, "n": COUNT, "labels": listed(SCALAR), "notes": optional(listed(WORDS))},
)
_SETTINGS = record(
    {},
    {
        **_all(SPECS, "explainers metrics experiments audited"),
        **_all(COUNT, "batch tokens sampled"),
        **{"seed": WHOLE, "companions": TEXTS, "share": NUMBER},
    },
)
MANIFEST = record(
    {"model": _MODEL, "data": _DATA},
    {
        **_all(TEXT, "profile created veil"),
        "checked": WORDS,
        **{"seed": WHOLE, "keep": COUNT, "labelled": FLAG, "specs": SPECS, "methods": TEXTS, "settings": _SETTINGS},
        **{"versions": table(SCALAR), "command": listed(SCALAR), "estimate": optional(_FREE)},
        "limit": optional(record({}, {"forward_flops": NUMBER, "machine_flops": NUMBER})),
        "label_table": optional(listed(table(SCALAR))),
        "rejected": listed(row(TEXT, WORDS)),
    },
)
SUMMARY = record(
    {
        **_all(TEXT, "metric method"),
        **_all(_MAYBE_NUMBER, "estimate low high"),
        **_all(COUNT, "n clusters undefined"),
        "seed": WHOLE,
    },
    {"level": NUMBER, "better": BETTER, "role": ROLE, "where": _FREE},
)
CONTRAST = record(
    {
        **{"name": WORDS, "claim": choice("above", "below"), "margin": NUMBER, "level": NUMBER},
        **_all(_MAYBE_NUMBER, "estimate low high p corrected"),
        **_all(COUNT, "n clusters"),
    },
    {"where": _FREE, "subject": TEXT},
)
_RANGE = optional(listed(optional(COUNT), length=2))
VERDICT = record(
    {
        **_all(TEXT, "question rule"),
        **_all(WORDS, "sentence rule_in_words not_claimed"),
        "answer": choice(*get_args(Answer)),
        **{"contrasts": listed(CONTRAST), "rows": listed(_FREE), "decides_at": optional(COUNT)},
    },
    {"rests_on": COUNT, "overruled": WORDS, "decides_between": _RANGE},
)
GRADED = record(
    {
        **_all(_MAYBE_NUMBER, "share low high"),
        **{"level": NUMBER, "n": COUNT, "best": TEXT, "show": TEXT, "ahead": listed(_MAYBE_NUMBER, length=3)},
        **{"ties": listed(TEXT), "ruled_out": listed(choice(*get_args(Reading)))},
    },
    {"effect": listed(_MAYBE_NUMBER, length=3)},
)
JUDGEMENT = record(
    {
        **_all(WORDS, "sentence why attention"),
        **{"reading": choice(*get_args(Reading)), "n": COUNT, "verdicts": listed(VERDICT)},
        **{"classes": listed(SCALAR), "margins": _FREE, "notes": listed(WORDS)},
    },
    {"decides_at": optional(COUNT), "decides_between": _RANGE, "graded": optional(GRADED)},
)
_SHIFTED = record(
    {
        **_all(TEXT, "here there fate"),
        "attention": WORDS,
        **{"classes": listed(listed(SCALAR), length=2), "n": listed(COUNT, length=2)},
        "questions": listed(record({**_all(TEXT, "question here there fate"), "said there": WORDS})),
    },
)
SHIFT = record(
    {
        **{"data": listed(TEXT, length=2), "accuracy": listed(_MAYBE_NUMBER, length=2), "run": TEXT},
        **{"fates": either(TEXTS, table(TEXT)), "attentions": listed(_SHIFTED)},
    },
)
_DEFECT = record(
    {"what": TEXT, "site": TEXT, "heads": optional(listed(COUNT)), "sentence": WORDS},
    {"n": COUNT, "measured": _NUMBER_OR_NULL, "limit": _NUMBER_OR_NULL},
)
PRECONDITIONS = record({"n": COUNT, "sites": COUNT, "defects": listed(_DEFECT), "notes": listed(WORDS)})
_REPEATABILITY = record(
    {"repeats": FLAG, "sentence": WORDS},
    {**_all(TEXTS, "kinds modules"), **_all(COUNT, "examples times passes"), "noise": _FREE},
)


def repeatability(value: Any, place: str) -> None:
    """The repeatability check: `repeats` must agree with the other fields."""
    _REPEATABILITY(value, place)
    faultless = not value.get("kinds") and not value["sentence"]
    if value["repeats"] != faultless:
        raise Mismatch(
            f"{place}.repeats", phrase("errors.store.value_that_follows_from_other"), named(value["repeats"])
        )


SCHEDULE = record(
    {"budget": TEXT, "available": COUNT},
    {
        **{"looks": listed(COUNT), "passes": optional(COUNT), "seconds_per_pass": optional(NUMBER)},
        **{"predictions": COUNT, "pilot": COUNT, "taken": listed(COUNT), "further": TEXTS},
        **{"passes_per_example": NUMBER, "actual": _FREE, "stopped": TEXT, "extended": listed(COUNT)},
        **{"slice": COUNT, "ended": COUNT},
    },
)
"""Schedule of an audit with a budget: cumulative numbers of examples at which to consult the judge, and its cost."""
ACTIVITY = record(
    {"updated": TEXT, "done": COUNT, "total": COUNT, "seconds_left": optional(NUMBER)},
    {"workers": table(record({"examples": COUNT, "seconds": NUMBER, "last": TEXT}, {"rate": optional(NUMBER)}))},
)
"""Progress of the last session, and its workers by HOST:PID (see `audits.worker_rates`)."""
FACTS: dict[str, Shape] = {
    "identity": record({}, {"specs": SPECS}),
    "manifest": MANIFEST,
    "status": STATUS,
    "finished": TEXT,
    "resumed": TEXTS,
    "summaries": listed(SUMMARY),
    "judgements": listed(JUDGEMENT),
    "shift": optional(SHIFT),
    "preconditions": optional(PRECONDITIONS),
    "repeatability": optional(repeatability),
    "schedule": SCHEDULE,
    "activity": ACTIVITY,
    "conclusions": optional(record({"version": COUNT}, {"all": table(ANYTHING)})),
}
"""Fact -> its shape; nothing reads other facts."""

WIDTHS = {"span": 2, "box": 4, "range": 2, "column": 1}
"""Number of coordinates of a place, by its kind."""
_UNITS = record(
    {
        **{"names": TEXTS, "kind": TEXT, "place_kind": choice(*WIDTHS), "places": PLACES, "special": listed(FLAG)},
        **_all(listed(WHOLE), "groups keys"),
        **_all(listed(COUNT), "part shape"),
    },
)


def units(value: Any, place: str) -> None:
    """Units: every list is as long as the names, every place has the coordinates of its kind."""
    _UNITS(value, place)
    count, width = len(value["names"]), WIDTHS[value["place_kind"]]
    several = value.get("key_counts") is not None
    if several:
        listed(COUNT)(value["key_counts"], f"{place}.key_counts")
    for name in ("places", "special", "groups", "part", "keys", *(("key_counts",) if several else ())):
        if len(value[name]) != count:
            raise Mismatch(
                f"{place}.{name}",
                phrase("errors.store.list_n", n=count),
                phrase("errors.store.list_n", n=len(value[name])),
            )
    for i, numbers in enumerate(value["places"]):
        if len(numbers) != width:
            raise Mismatch(
                f"{place}.places[{i}]",
                phrase("errors.store.list_n", n=width),
                phrase("errors.store.list_n", n=len(numbers)),
            )


def blob(value: Any, place: str) -> None:
    """Name of a blob: a sha256, so that no name leads out of the run."""
    if not isinstance(value, str) or not BLOB_NAME.fullmatch(value):
        raise Mismatch(place, phrase("errors.store.sha_blob"), named(value))


BLOB_NAME = re.compile(r"[0-9a-f]{64}")


def _input(value: Any, place: str) -> None:
    """Check one input of an example: a text, a number, words, nested lists of numbers, or a blob."""
    if isinstance(value, dict):
        record({"blob": blob, "shape": listed(COUNT)})(value, place)
    elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        TEXTS(value, place)
    elif isinstance(value, list):
        _numbers(value, place)
    else:
        SCALAR(value, place)


def _numbers(value: Any, place: str) -> None:
    """Check nested lists of numbers; null is an unknown number."""
    if isinstance(value, list):
        for i, part in enumerate(value):
            _numbers(part, f"{place}[{i}]")
    else:
        _NUMBER_OR_NULL(value, place)


EXAMPLE = record(
    {"id": TEXT, "inputs": table(_input)},
    {
        **{"label": either(SCALAR, listed(ANYTHING)), "cluster": TEXT},
        **_all(optional(TEXT), "group parent"),
        **{"slices": optional(table(SCALAR)), "rationale": optional(PLACES)},
        "alignment": optional(listed(row(*[COUNT] * 4))),
    },
)
_VECTOR, _MATRIX = listed(NUMBER_OR_NAN), listed(listed(NUMBER_OR_NAN))
_WALK = record(
    {
        **_all(TEXT, "site form"),
        **_all(COUNT, "head query all_features"),
        **_all(listed(COUNT), "features keys output_features"),
        **_all(_VECTOR, "query_vector dots scaled added exponentials weights output"),
        **_all(_MATRIX, "key_vectors products weighted_values"),
        **_all(NUMBER_OR_NAN, "factor total difference"),
        "notes": listed(WORDS),
    }
)
ROW = record(
    {"id": TEXT},
    {
        **{"predicted": SCALAR, "target": ANYTHING, "probability": _NUMBER_OR_NULL, "value": _NUMBER_OR_NULL},
        **{"distribution": optional(listed(_NUMBER_OR_NULL)), "units": optional(units), "walks": listed(_WALK)},
        **{"audited": TEXTS, "reading": table(listed(COUNT))},
    },
)
"""Prediction for one example."""
PREDICTION = record(
    {"id": TEXT, "length": COUNT},
    {
        **{"predicted": SCALAR, "target": ANYTHING, "probability": _NUMBER_OR_NULL, "value": _NUMBER_OR_NULL},
        "distribution": optional(listed(_NUMBER_OR_NULL)),
    },
)
WHERE = record(
    {},
    {
        **_all(TEXT, "experiment role attack access method"),
        **_all(WORDS, "attention constraints"),
        **_all(SCALAR, "similarity operator measure other weight"),
        **_all(SCALAR, "heads layers noise severity class answer predicted when"),
        **_all(either(SCALAR, listed(NUMBER)), "sizes seeds"),
        **_all(_MAYBE_NUMBER, "probability perturbed sigma radius"),
        **{"inputs": table(_input), "units": optional(units), "relevance": optional(_FREE), "witness": FLAG},
    },
)
"""The setting of a score: parameters of its method, and results of the method. Other keys are free."""
RELEVANCE = record({"method": TEXT, "ids": TEXTS, "signed": FLAG, "extras": TEXTS})
_SCORE = {"metric": TEXT, "method": TEXT, "ids": TEXTS, "better": BETTER, "grid": listed(NUMBER), "curves": TEXTS}
SCORE = record({**_SCORE, "where": WHERE})

COST = row(TEXT, TEXT, NUMBER, *[COUNT] * 3)
SHARD_RESULT = record(
    {
        **{"rows": listed(ROW), "relevances": listed(RELEVANCE), "scores": listed(SCORE)},
        **{"costs": listed(COST), "skipped": table(WORDS)},
    },
    {"findings": listed(SCORE), "predictions": listed(PREDICTION)},
)
SITES = listed(row(TEXT, COUNT, TEXT, WHOLE, COUNT, TEXT, TEXT))
"""The stored sites of one example: name, call, kind, layer, heads, module, proof of the weights."""
