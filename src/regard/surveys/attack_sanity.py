"""Sanity checks of attacks: a failed attack is evidence of robustness only if the attack works at all.

After Carlini et al. 2019: success must come near 100 % when everything is allowed, gradients must not be worse than
none, and an attack must beat noise of the same size. Where one of these fails, gradients may be masked (or the search
is too weak), and a low success rate is no sign of robustness. A check passes or fails only where a test shows it; else
it is open, with the number of examples that would decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from regard.desk.case import DeskCase
from regard.desk.questions import attacked
from regard.errors import Unsupported
from regard.measures.count_tests import ALPHA, CountTest, joint, nearly_all, no_weaker, stronger
from regard.records import Attacked, Json, Message, Spec, Text, Threat, encoded
from regard.registry import entry

MOST = 60
"""Examples of the checks that run an attack again: 59 successes of 59 show a rate above 95 %."""
STEPS = 24
"""Examples of the sizes in between."""
LADDER = (1.0, 4.0, 16.0)
"""Multiples of the size of the attack, and then the whole range of the inputs."""


Result = Literal["passed", "failed", "open", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """Sanity check. open: too few examples to say. numbers: the data behind it, with n and the n that it would need."""

    name: Message
    result: Result
    sentence: Text
    numbers: Mapping[str, Json]

    @property
    def passed(self) -> bool | None:
        """Whether the check passed; None if it is open or could not be run."""
        return {"passed": True, "failed": False}.get(self.result)

    def to_json(self) -> dict[str, Json]:
        return {**encoded(self), "passed": self.passed}


@dataclass(frozen=True, slots=True)
class Sample:
    """Examples of the checks, and the records of attacks on them, in the same order."""

    case: DeskCase
    records: Mapping[str, Sequence[Attacked]]

    def rate(self, spec: Spec) -> float:
        return _rate(self.records[str(spec)])

    def first(self, n: int) -> Sample:
        some = list(range(min(n, len(self.case.ids))))
        return Sample(self.case.subset(some), {name: records[: len(some)] for name, records in self.records.items()})


def sanity(
    case: DeskCase, specs: Sequence[Spec], found: Mapping[str, Sequence[Attacked]], threat: Threat
) -> list[Check]:
    """The checks that these attacks allow, on up to MOST of the examples that were attacked."""
    about = [s for s in specs if entry("attack", s.name).facts["goal"] == "prediction"]
    methods = [s for s in about if (f := entry("attack", s.name).facts)["role"] == "method" and f["scope"] == "example"]
    if not methods:
        return []
    first = found[str(methods[0])]
    places: dict[str, int] = {}
    for i, (one, example) in enumerate(zip(first, case.examples, strict=True)):
        if one.status != "skipped":
            places.setdefault(example.cluster, i)  # one example per independent draw
    some = list(places.values())
    if not some:
        return []
    sample = Sample(case.subset(some), {str(s): [found[str(s)][i] for i in some] for s in methods})
    strongest = max(methods, key=lambda s: (sample.rate(s), -methods.index(s)))
    text = "text" in case.examples[0].inputs and "text" in _listed(strongest, "modality")
    alpha = ALPHA / len(methods)  # the strongest of them was selected on these examples
    checks = {
        "rises": lambda: _everything(sample.first(MOST), strongest, threat, text=text),
        "noise": lambda: _noise(sample, strongest, threat, text=text, alpha=alpha),
        "boxes": lambda: _boxes(sample, methods, threat, text=text),
    }
    return [_tried(Message(f"sanity.{name}"), check) for name, check in checks.items()]


def _tried(name: Message, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Unsupported as error:
        return Check(name, "skipped", Message.of("sanity.skipped", reason=str(error)), {})


def _listed(spec: Spec, fact: str) -> list[str]:
    value = entry("attack", spec.name).facts[fact]
    return [str(v) for v in value] if isinstance(value, list) else []


def _rate(records: Sequence[Attacked]) -> float:
    met = [one.status == "success" for one in records if one.status != "skipped"]
    return float(np.mean(met)) if met else float("nan")


def _everything(sample: Sample, spec: Spec, threat: Threat, *, text: bool) -> Check:
    """Check that the attack wins with everything allowed; for numeric inputs, size by size."""
    steps = sample.first(STEPS)
    known = sample.records[str(spec)]
    runs: list[tuple[str, Text, Sequence[Attacked]]]
    if text:
        free = replace(
            threat,
            budget=4 * threat.budget,
            max_share=1.0,
            stop_words=True,
            keep=(),
            max_edits=None,
            min_similarity=0.0,
        )
        runs = [
            ("as asked", Message("sanity.as_asked"), known),
            ("any word, 4 times the budget", Message("sanity.any_word"), attacked(sample.case, spec, free)),
        ]
    else:
        eps = _eps(spec)
        sizes = [*(eps * k for k in LADDER if eps * k < 1), 1.0]
        runs = []
        for size in sizes:
            larger = Spec("attack", spec.name, _with_eps(spec, size))
            case = sample.case if size == sizes[-1] else steps.case
            records = known if size == eps else attacked(case, larger, threat)
            runs.append((f"eps {size:g}", f"eps {size:g}", records))
    test = _rises([records for _, _, records in runs])
    rates = [(key, name, _rate(records), _count(records)) for key, name, records in runs]
    sentence = Message.of(
        "sanity.rates",
        attack=str(spec),
        rates=[Message.of("sanity.rate", name=name, rate=rate, n=n) for _, name, rate, n in rates],
    )
    numbers: dict[str, Json] = {"attack": str(spec), "rates": {key: rate for key, _, rate, _ in rates}}
    return _checked("rises", test, sentence, numbers, failure="weak")


def _rises(runs: Sequence[Sequence[Attacked]]) -> CountTest:
    """Test that the last run succeeds nearly always; a step on which success falls fails the check."""
    met = [one.status == "success" for one in runs[-1] if one.status != "skipped"]
    falls = []
    for smaller, larger in pairwise(runs):
        only_larger, only_smaller, n = _differences(larger, smaller)
        falls.append(no_weaker(only_larger, only_smaller, n, alpha=ALPHA / len(runs)))
    end = nearly_all(sum(met), len(met))
    return joint([end, *(test for test in falls if test.outcome == "failed")])


def _count(records: Sequence[Attacked]) -> int:
    return sum(one.status != "skipped" for one in records)


def _differences(first: Sequence[Attacked], second: Sequence[Attacked]) -> tuple[int, int, int]:
    """Examples on which only the first run succeeds, only the second, and all that both attacked."""
    pairs = [
        (a.status == "success", b.status == "success")
        for a, b in zip(first, second, strict=False)  # sizes in between run on the first examples
        if "skipped" not in (a.status, b.status)
    ]
    return sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs), len(pairs)


def _checked(name: str, test: CountTest, summary: Message, numbers: Mapping[str, Json], *, failure: str) -> Check:
    sentence: Text = summary
    if test.outcome == "failed":
        sentence = Message.of(f"sanity.{failure}", summary=summary)
    elif test.outcome == "open":
        key = "open" if test.needed is None else "open_until"
        sentence = Message.of(f"sanity.{key}", summary=summary, n=test.n, needed=test.needed)
    return Check(Message(f"sanity.{name}"), test.outcome, sentence, {**numbers, "n": test.n, "needed": test.needed})


def _eps(spec: Spec) -> float:
    own_eps = spec.params.get("eps")
    defaults = {p.name: p.default for p in entry("attack", spec.name).parameters}
    value = own_eps if own_eps is not None else defaults.get("eps", 0.03)
    return float(value) if isinstance(value, int | float) else 0.03


def _with_eps(spec: Spec, eps: float) -> dict[str, Json]:
    if spec.name == "worst_case":
        parts = spec.params.get("attacks") or next(
            p.default for p in entry("attack", spec.name).parameters if p.name == "attacks"
        )
        attacks = [Spec.parse("attack", str(part)) for part in parts] if isinstance(parts, list | tuple) else []
        return {"attacks": [str(Spec("attack", s.name, {**s.params, "eps": eps})) for s in attacks]}
    return {**spec.params, "eps": eps}


def _noise(sample: Sample, spec: Spec, threat: Threat, *, text: bool, alpha: float) -> Check:
    """Attack with noise of the same kind and size, once per example."""
    source = "misspellings" if spec.name == "greedy_char" else spec.params.get("source", "neighbours")
    control = (
        Spec("attack", "random_words", {"source": source})
        if text
        else Spec(
            "attack",
            "random_noise",
            {"eps": _eps(spec), **({"norm": spec.params["norm"]} if "norm" in spec.params else {})},
        )
    )
    records = attacked(sample.case, control, threat)
    only_first, only_other, n = _differences(sample.records[str(spec)], records)
    summary, numbers = _pair(spec, control, sample.records[str(spec)], records)
    test = stronger(only_first, only_other, n, alpha=alpha)
    return _checked("noise", test, summary, numbers, failure="same")


def _boxes(sample: Sample, methods: Sequence[Spec], threat: Threat, *, text: bool) -> Check:
    """Compare attacks with and without gradients under the same threat; run the side that was not requested."""
    white = [s for s in methods if _white(s)]
    black = [s for s in methods if not _white(s)]
    alpha = ALPHA / (max(len(white), 1) * max(len(black), 1))  # the strongest of each was selected
    eps = _eps(methods[0])
    one = max(white, key=sample.rate) if white else None
    other = max(black, key=sample.rate) if black else None
    if one is None:
        one = Spec("attack", "hotflip") if text else Spec("attack", "pgd", {"eps": eps})
    if other is None:
        other = Spec("attack", "greedy_word") if text else Spec("attack", "square", {"eps": eps})
    both = str(one) in sample.records and str(other) in sample.records
    part = sample if both else sample.first(MOST)
    records, other_records = (
        part.records[str(s)] if str(s) in part.records else attacked(part.case, s, threat) for s in (one, other)
    )
    only_first, only_other, n = _differences(records, other_records)
    summary, numbers = _pair(one, other, records, other_records)
    return _checked("boxes", no_weaker(only_first, only_other, n, alpha=alpha), summary, numbers, failure="blind")


def _white(spec: Spec) -> bool:
    return entry("attack", spec.name).facts["access"] == "white box" or spec.params.get("importance") == "gradient"


def _pair(
    spec: Spec, other: Spec, records: Sequence[Attacked], other_records: Sequence[Attacked]
) -> tuple[Message, dict[str, Json]]:
    """The sentence and the numbers of two attacks on the same examples."""
    pairs = [pair for pair in zip(records, other_records, strict=True) if "skipped" not in (p.status for p in pair)]
    only_first, only_other, n = _differences(records, other_records)
    rates = [_rate([pair[k] for pair in pairs]) for k in (0, 1)]
    numbers: dict[str, Json] = {
        "attack": str(spec),
        "other": str(other),
        "n": n,
        "rate": rates[0],
        "other_rate": rates[1],
        "only": only_first,
        "only_other": only_other,
    }
    return Message("sanity.compared", numbers), numbers
