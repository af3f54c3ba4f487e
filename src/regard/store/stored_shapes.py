"""The shapes of everything that a run stores as JSON: facts, examples, pages, attention."""

from __future__ import annotations

import re
from typing import Any, get_args

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

BETTER = choice("higher", "lower", "none")
ROLE = choice("method", "baseline", "ceiling", "null")
STATUS = choice("running", "complete", "interrupted")
TEXTS = listed(TEXT)
WORDS = either(record({"message": TEXT}, {"params": table(ANYTHING)}), TEXT)
"""A message, or a plain text: of a foreign exception, or of a run of an older version."""
SPEC = record({"kind": TEXT, "name": TEXT}, {"params": table(ANYTHING)})
SPECS = listed(SPEC)
PLACES = listed(listed(NUMBER))

_QUANTITY = record(
    {"quantity": TEXT, "verdict": TEXT, "n": COUNT},
    {"before": optional(NUMBER), "after": optional(NUMBER), "difference": optional(NUMBER), "low": optional(NUMBER),
     "high": optional(NUMBER), "corrected": optional(NUMBER), "p": optional(NUMBER), "seeds": COUNT},
)  # fmt: skip
_IMPROVEMENT = record(
    {
        "arm": TEXT, "what": TEXT, "seeds": listed(ANYTHING),
        "comparisons": listed(record({"against": TEXT, "rows": listed(_QUANTITY)})),
        "plan": record({"learned_noises": TEXTS, "other_noises": TEXTS, "attack": optional(TEXT)}),
    }
)  # fmt: skip
_MODEL = record(
    {"name": TEXT},
    {"source": TEXT, "fingerprint": TEXT, "task": TEXT, "labels": optional(listed(SCALAR)), "operators": TEXTS,
     "spec": optional(SPEC), "family": optional(table(ANYTHING)), "improvement": optional(_IMPROVEMENT),
     "files": optional(TEXT)},
)  # fmt: skip
_DATA = record(
    {"name": TEXT},
    {"source": TEXT, "fingerprint": TEXT, "n": COUNT, "labels": listed(SCALAR), "notes": optional(listed(WORDS))},
)
_SETTINGS = record(
    {},
    {"explainers": SPECS, "metrics": SPECS, "experiments": SPECS, "seed": WHOLE, "batch": COUNT, "tokens": COUNT,
     "companions": TEXTS, "sampled": COUNT, "share": NUMBER},
)  # fmt: skip
MANIFEST = record(
    {"model": _MODEL, "data": _DATA},
    {
        "seed": WHOLE, "profile": TEXT, "keep": COUNT, "specs": SPECS, "methods": TEXTS, "settings": _SETTINGS,
        "versions": table(SCALAR), "created": TEXT, "command": listed(SCALAR), "estimate": optional(table(ANYTHING)),
        "limit": optional(record({}, {"forward_flops": NUMBER, "machine_flops": NUMBER})), "labelled": FLAG,
        "label_table": optional(listed(table(SCALAR))), "checked": WORDS, "rejected": listed(row(TEXT, TEXT)),
        "veil": TEXT,
    },
)  # fmt: skip
SUMMARY = record(
    {"metric": TEXT, "method": TEXT, "estimate": optional(NUMBER), "low": optional(NUMBER), "high": optional(NUMBER),
     "n": COUNT, "clusters": COUNT, "undefined": COUNT, "seed": WHOLE},
    {"level": NUMBER, "better": BETTER, "role": ROLE, "where": table(ANYTHING)},
)  # fmt: skip
CONTRAST = record(
    {"name": WORDS, "claim": choice("above", "below"), "margin": NUMBER, "estimate": optional(NUMBER),
     "low": optional(NUMBER), "high": optional(NUMBER), "level": NUMBER, "n": COUNT, "clusters": COUNT,
     "p": optional(NUMBER), "corrected": optional(NUMBER)},
    {"where": table(ANYTHING), "subject": TEXT},
)  # fmt: skip
VERDICT = record(
    {"question": TEXT, "answer": choice(*get_args(Answer)), "sentence": WORDS, "rule": TEXT, "rule_in_words": WORDS,
     "not_claimed": WORDS, "contrasts": listed(CONTRAST), "rows": listed(table(ANYTHING)),
     "decides_at": optional(COUNT)},
    {"rests_on": COUNT, "overruled": WORDS},
)  # fmt: skip
JUDGEMENT = record(
    {"reading": choice(*get_args(Reading)), "sentence": WORDS, "why": WORDS, "attention": WORDS, "n": COUNT,
     "verdicts": listed(VERDICT), "classes": listed(SCALAR), "margins": table(ANYTHING), "notes": listed(WORDS)},
    {"decides_at": optional(COUNT)},
)  # fmt: skip
_SHIFTED = record(
    {"attention": WORDS, "here": TEXT, "there": TEXT, "fate": TEXT, "classes": listed(listed(SCALAR), length=2),
     "n": listed(COUNT, length=2),
     "questions": listed(record({"question": TEXT, "here": TEXT, "there": TEXT, "fate": TEXT, "said there": WORDS}))},
)  # fmt: skip
SHIFT = record(
    {"data": listed(TEXT, length=2), "accuracy": listed(optional(NUMBER), length=2), "run": TEXT,
     "fates": either(TEXTS, table(TEXT)), "attentions": listed(_SHIFTED)},
)  # fmt: skip
_DEFECT = record(
    {"what": TEXT, "site": TEXT, "heads": optional(listed(COUNT)), "sentence": WORDS},
    {"n": COUNT, "measured": optional(NUMBER_OR_NAN), "limit": optional(NUMBER_OR_NAN)},
)
PRECONDITIONS = record({"n": COUNT, "sites": COUNT, "defects": listed(_DEFECT), "notes": listed(WORDS)})
_REPEATABILITY = record(
    {"repeats": FLAG, "sentence": WORDS},
    {"kinds": TEXTS, "examples": COUNT, "times": COUNT, "passes": COUNT, "noise": table(ANYTHING), "modules": TEXTS},
)


def repeatability(value: Any, place: str) -> None:
    """The repeat check: a model repeats its answers where nothing is wrong with it."""
    _REPEATABILITY(value, place)
    faultless = not value.get("kinds") and not value["sentence"]
    if value["repeats"] != faultless:
        raise Mismatch(f"{place}.repeats", "what the other fields say", named(value["repeats"]))


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
}
"""Fact -> its shape; facts that are not listed here nobody reads."""

WIDTHS = {"span": 2, "box": 4, "range": 2, "column": 1}
"""Numbers of a place, by its kind."""
_UNITS = record(
    {"names": TEXTS, "kind": TEXT, "place_kind": choice(*WIDTHS), "places": PLACES, "special": listed(FLAG),
     "groups": listed(WHOLE), "part": listed(COUNT), "keys": listed(WHOLE), "shape": listed(COUNT)},
)  # fmt: skip


def units(value: Any, place: str) -> None:
    """Units: every list as long as the names, places as wide as their kind."""
    _UNITS(value, place)
    count, width = len(value["names"]), WIDTHS[value["place_kind"]]
    for name in ("places", "special", "groups", "part", "keys"):
        if len(value[name]) != count:
            raise Mismatch(f"{place}.{name}", f"a list of {count}", f"a list of {len(value[name])}")
    for i, numbers in enumerate(value["places"]):
        if len(numbers) != width:
            raise Mismatch(f"{place}.places[{i}]", f"a list of {width}", f"a list of {len(numbers)}")


def blob(value: Any, place: str) -> None:
    """The name of a blob: a sha256, so that no name leads out of the run."""
    if not isinstance(value, str) or not BLOB_NAME.fullmatch(value):
        raise Mismatch(place, "the sha256 of a blob", named(value))


BLOB_NAME = re.compile(r"[0-9a-f]{64}")


def _input(value: Any, place: str) -> None:
    """One input of an example: a text, a number, nested lists of numbers, or a reference to a blob."""
    if isinstance(value, dict):
        record({"blob": blob, "shape": listed(COUNT)})(value, place)
    elif isinstance(value, list):
        _numbers(value, place)
    else:
        SCALAR(value, place)


def _numbers(value: Any, place: str) -> None:
    """Nested lists of numbers; null is an unknown one."""
    if isinstance(value, list):
        for i, part in enumerate(value):
            _numbers(part, f"{place}[{i}]")
    else:
        optional(NUMBER_OR_NAN)(value, place)


EXAMPLE = record(
    {"id": TEXT, "inputs": table(_input)},
    {"label": either(SCALAR, listed(ANYTHING)), "group": optional(TEXT),
     "parent": optional(TEXT), "slices": optional(table(SCALAR)), "cluster": TEXT, "rationale": optional(PLACES),
     "alignment": optional(listed(row(COUNT, COUNT, COUNT, COUNT)))},
)  # fmt: skip
_VECTOR, _MATRIX = listed(NUMBER_OR_NAN), listed(listed(NUMBER_OR_NAN))
_WALK = record(
    {
        "site": TEXT, "head": COUNT, "query": COUNT, "form": TEXT, "features": listed(COUNT), "all_features": COUNT,
        "keys": listed(COUNT), "query_vector": _VECTOR, "key_vectors": _MATRIX, "products": _MATRIX, "dots": _VECTOR,
        "factor": NUMBER_OR_NAN, "scaled": _VECTOR, "added": _VECTOR, "exponentials": _VECTOR, "total": NUMBER_OR_NAN,
        "weights": _VECTOR, "output_features": listed(COUNT), "weighted_values": _MATRIX, "output": _VECTOR,
        "difference": NUMBER_OR_NAN, "notes": TEXTS,
    }
)  # fmt: skip
ROW = record(
    {"id": TEXT},
    {"predicted": SCALAR, "target": ANYTHING, "probability": optional(NUMBER_OR_NAN), "value": optional(NUMBER_OR_NAN),
     "distribution": optional(listed(optional(NUMBER_OR_NAN))), "units": optional(units), "walks": listed(_WALK),
     "audited": TEXTS, "reading": table(listed(COUNT))},
)  # fmt: skip
"""What the model said about one example."""
WHERE = record(
    {},
    {
        **dict.fromkeys(("experiment", "role", "attack", "access", "method"), TEXT), "attention": WORDS,
        **dict.fromkeys(("similarity", "constraints", "operator", "measure", "other", "weight"), SCALAR),
        **dict.fromkeys(("heads", "layers", "noise", "severity", "class", "answer", "predicted", "when"), SCALAR),
        **dict.fromkeys(("sizes", "seeds"), either(SCALAR, listed(NUMBER))),
        **dict.fromkeys(("probability", "perturbed", "sigma", "radius"), optional(NUMBER)),
        "inputs": table(_input), "units": optional(units), "relevance": optional(table(ANYTHING)), "witness": FLAG,
    },
)  # fmt: skip
"""The setting of a score: parameters of its method, and what the method found. Other keys are shown as they are."""
RELEVANCE = record({"method": TEXT, "ids": TEXTS, "signed": FLAG, "extras": TEXTS})
_SCORE = {"metric": TEXT, "method": TEXT, "ids": TEXTS, "better": BETTER, "grid": listed(NUMBER), "curves": TEXTS}
SCORE = record({**_SCORE, "where": WHERE})

COST = row(TEXT, TEXT, NUMBER, COUNT, COUNT, COUNT)
PAGE = record(
    {"rows": listed(ROW), "relevances": listed(RELEVANCE), "scores": listed(SCORE), "costs": listed(COST),
     "skipped": table(TEXT)},
    {"findings": listed(SCORE)},
)  # fmt: skip
SITES = listed(row(TEXT, COUNT, TEXT, WHOLE, COUNT, TEXT, TEXT))
"""The sites of one kept example: name, call, kind, layer, heads, module, how the weights were proved."""
