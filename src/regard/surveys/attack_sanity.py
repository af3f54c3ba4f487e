"""Sanity checks of attacks: a failed attack is evidence of robustness only if the attack works at all.

After Carlini et al. 2019: success must come near 100 % when everything is allowed, gradients must not be worse than
none, and an attack must beat noise of the same size. Where one of these fails, gradients may be masked (or the search
is too weak), and a low success rate is no sign of robustness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from regard.desk.case import DeskCase
from regard.desk.questions import attacked
from regard.errors import Unsupported
from regard.measures.intervals import binomial_tail
from regard.records import Attacked, Json, Message, Spec, Text, Threat, encoded
from regard.registry import entry

MOST = 24
"""Maximum examples; the checks cost as much as an attack."""
NEARLY_ALL = 0.95
ALPHA = 0.05
LADDER = (1.0, 4.0, 16.0)
"""Multiples of the size of the attack, and then the whole range of the inputs."""


@dataclass(frozen=True, slots=True)
class Check:
    """Sanity check. passed: None if it could not be run. numbers: the data behind it, with n."""

    name: Message
    passed: bool | None
    sentence: Text
    numbers: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return dict(encoded(self))


def sanity(
    case: DeskCase, specs: Sequence[Spec], found: Mapping[str, Sequence[Attacked]], threat: Threat
) -> list[Check]:
    """The checks that these attacks allow, on up to MOST of the examples that were attacked."""
    about = [s for s in specs if entry("attack", s.name).facts["goal"] == "prediction"]
    methods = [s for s in about if (f := entry("attack", s.name).facts)["role"] == "method" and f["scope"] == "example"]
    if not methods:
        return []
    first = found[str(methods[0])]
    few = [i for i, one in enumerate(first) if one.status != "skipped"][:MOST]
    if not few:
        return []
    sample = case.subset(few)
    records_of = {str(s): [found[str(s)][i] for i in few] for s in methods}
    rates = {name: _rate(records) for name, records in records_of.items()}
    strongest = max(methods, key=lambda s: (rates[str(s)], -methods.index(s)))
    text = "text" in case.examples[0].inputs and "text" in _listed(strongest, "modality")
    checks = {
        "rises": lambda: _everything(sample, strongest, threat, text=text, known=records_of),
        "noise": lambda: _noise(sample, strongest, records_of, threat, text=text),
        "boxes": lambda: _boxes(sample, methods, records_of, threat, text=text),
    }
    return [_tried(Message(f"sanity.{name}"), check) for name, check in checks.items()]


def _tried(name: Message, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Unsupported as error:
        return Check(name, None, Message.of("sanity.skipped", reason=str(error)), {})


def _listed(spec: Spec, fact: str) -> list[str]:
    value = entry("attack", spec.name).facts[fact]
    return [str(v) for v in value] if isinstance(value, list) else []


def _rate(records: Sequence[Attacked]) -> float:
    met = [one.status == "success" for one in records if one.status != "skipped"]
    return float(np.mean(met)) if met else float("nan")


def _everything(
    some: DeskCase, spec: Spec, threat: Threat, *, text: bool, known: Mapping[str, Sequence[Attacked]]
) -> Check:
    """Check that the attack wins with everything allowed; for numeric inputs, size by size."""
    rate, rates = _rate(known[str(spec)]), dict[str, float]()
    names: list[Text]
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
        rates["as asked"] = rate
        rates["any word, 4 times the budget"] = _rate(attacked(some, spec, free))
        names = [Message("sanity.as_asked"), Message("sanity.any_word")]
    else:
        eps = _eps(spec)
        sizes = [*(eps * k for k in LADDER if eps * k < 1), 1.0]
        for size in sizes:
            larger = Spec("attack", spec.name, _with_eps(spec, size))
            rates[f"eps {size:g}"] = rate if size == eps else _rate(attacked(some, larger, threat))
        names = [f"eps {size:g}" for size in sizes]
    values = list(rates.values())
    rises = all(b >= a - 1 / len(some.ids) - 1e-9 for a, b in pairwise(values))
    passed = rises and values[-1] >= NEARLY_ALL
    steps = [Message.of("sanity.rate", name=name, rate=value) for name, value in zip(names, values, strict=True)]
    summary = Message.of("sanity.rates", attack=str(spec), rates=steps, n=len(some.ids))
    return Check(
        Message("sanity.rises"),
        passed,
        summary if passed else Message.of("sanity.weak", summary=summary),
        {"attack": str(spec), "n": len(some.ids), "rates": dict(rates)},
    )


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


def _noise(some: DeskCase, spec: Spec, known: Mapping[str, Sequence[Attacked]], threat: Threat, *, text: bool) -> Check:
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
    records = known[str(spec)]
    return _compared(
        "noise", spec, mine=records, other=control, run=lambda: attacked(some, control, threat), otherwise="same"
    )


def _boxes(
    some: DeskCase, methods: Sequence[Spec], known: Mapping[str, Sequence[Attacked]], threat: Threat, *, text: bool
) -> Check:
    """Compare attacks with and without gradients under the same threat; run the side that was not requested."""
    white = [s for s in methods if _white(s)]
    black = [s for s in methods if not _white(s)]
    eps = _eps(methods[0])
    one = max(white, key=lambda s: _rate(known[str(s)])) if white else None
    other = max(black, key=lambda s: _rate(known[str(s)])) if black else None
    if one is None:
        one = Spec("attack", "hotflip") if text else Spec("attack", "pgd", {"eps": eps})
    if other is None:
        other = Spec("attack", "greedy_word") if text else Spec("attack", "square", {"eps": eps})
    records = known[str(one)] if str(one) in known else attacked(some, one, threat)
    return _compared(
        "boxes",
        one,
        mine=records,
        other=other,
        run=lambda: known[str(other)] if str(other) in known else attacked(some, other, threat),
        otherwise="blind",
        tie=True,
    )


def _white(spec: Spec) -> bool:
    return entry("attack", spec.name).facts["access"] == "white box" or spec.params.get("importance") == "gradient"


def _compared(
    name: str,
    spec: Spec,
    mine: Sequence[Attacked],
    other: Spec,
    run: Callable[[], Sequence[Attacked]],
    otherwise: str,
    *,
    tie: bool = False,
) -> Check:
    """Sign test on the examples on which the two differ; with `tie`, only a significant loss counts."""
    other_records = run()
    pairs = [
        (a.status == "success", b.status == "success")
        for a, b in zip(mine, other_records, strict=True)
        if "skipped" not in (a.status, b.status)
    ]
    only_first, others = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    lost = others > only_first and binomial_tail(others, only_first + others, 0.5) < ALPHA
    passed = not lost if tie else only_first > others
    a, b = (float(np.mean([p[k] for p in pairs])) if pairs else float("nan") for k in (0, 1))
    numbers: dict[str, Json] = {
        "attack": str(spec),
        "other": str(other),
        "n": len(pairs),
        "rate": a,
        "other_rate": b,
        "only": only_first,
        "only_other": others,
    }
    summary = Message("sanity.compared", numbers)
    sentence = summary if passed else Message.of(f"sanity.{otherwise}", summary=summary)
    return Check(Message(f"sanity.{name}"), passed, sentence, numbers)
