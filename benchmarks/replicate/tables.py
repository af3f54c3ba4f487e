"""Our values beside the published ones: bands, orderings, and values that are only printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from scipy.stats import t as student

Values = Mapping[str, float]
Table = Mapping[tuple[str, str, str], Mapping[int, Values]]
"""(kind, encoder, attention) -> seed -> values."""


@dataclass(frozen=True, slots=True)
class Band:
    """One published number and where ours should be. gate: "must" lie inside; "explain": inside, or a word why not;
    "print": only shown, because the published figure is recalled or its band was never measured."""

    row: int
    what: str
    cells: tuple[str, str, str]
    value: str
    published: str
    low: float
    high: float
    gate: str


AVERAGE, BILSTM = ("agreement", "average", "additive"), ("agreement", "bilstm", "additive")
DOT, CNN = ("agreement", "bilstm", "dot"), ("agreement", "cnn", "additive")
DIAGNOSTIC, ADVERSARY = ("diagnostic", "bilstm", "additive"), ("adversary", "bilstm", "additive")
GIVEN, GIVEN_AVERAGE = ("pretrained", "bilstm", "additive"), ("pretrained", "average", "additive")
INF = float("inf")

BANDS = (
    Band(2, "accuracy, bilstm additive (random vectors)", BILSTM, "accuracy", ".808", 0.77, INF, "explain"),
    Band(3, "tau attention-gradient, average additive", AVERAGE, "tau_gradient", ".606", 0.55, 0.70, "must"),
    Band(3, "  share with p <= .05", AVERAGE, "significant_gradient", ".85", 0.80, 0.95, "must"),
    Band(3, "  standard deviation over texts", AVERAGE, "sd_gradient", ".201", 0.13, 0.21, "must"),
    Band(4, "tau attention-LOO, average additive", AVERAGE, "tau_loo", ".623", 0.50, 0.70, "must"),
    Band(5, "tau attention-gradient, bilstm additive", BILSTM, "tau_gradient", ".351", 0.20, 0.50, "explain"),
    Band(6, "tau attention-LOO, bilstm additive", BILSTM, "tau_loo", ".291", 0.15, 0.45, "explain"),
    Band(7, "tau gradient-LOO, bilstm additive", BILSTM, "tau_gradient_loo", ".656", 0.50, 0.80, "explain"),
    Band(8, "tau attention-gradient, bilstm dot", DOT, "tau_gradient", ".073", -0.15, 0.30, "print"),
    Band(9, "max JSD at .05, average additive, class 0", AVERAGE, "jsd_0", ".474", 0.42, 0.56, "must"),
    Band(9, "  class 1", AVERAGE, "jsd_1", ".497", 0.42, 0.56, "must"),
    Band(10, "max JSD at .05, bilstm additive, class 0", BILSTM, "jsd_0", ".491", 0.40, 0.60, "explain"),
    Band(10, "  class 1", BILSTM, "jsd_1", ".500", 0.40, 0.60, "explain"),
    Band(11, "permutation, bilstm additive, max < .25, class 0", BILSTM, "permuted_0_0", ".027", 0.0, 0.15, "explain"),
    Band(11, "  class 1", BILSTM, "permuted_1_0", ".032", 0.0, 0.15, "explain"),
    Band(12, "F1 of uniform attention, bilstm", DIAGNOSTIC, "f1_uniform", ".822 (recalled)", 0, INF, "print"),
    Band(12, "  of the base", DIAGNOSTIC, "f1_base", ".831 (recalled)", 0, INF, "print"),
    Band(13, "F1 of words under base attention", DIAGNOSTIC, "f1_probe_base", ".824 (recalled)", 0, INF, "print"),
    Band(13, "  under attention of their own", DIAGNOSTIC, "f1_probe_trained", ".817 (recalled)", 0, INF, "print"),
    Band(13, "  under uniform attention", DIAGNOSTIC, "f1_probe_uniform", ".812 (recalled)", 0, INF, "print"),
    Band(13, "  under adversarial attention", DIAGNOSTIC, "f1_probe_adversary", ".592 (recalled)", 0, INF, "print"),
    Band(14, "F1 of the adversary, lambda 5e-4", ADVERSARY, "f1_adversary", ".823 (recalled)", 0, INF, "print"),
    Band(14, "  its TVD (theirs is half: .036)", ADVERSARY, "tvd", ".072 (recalled)", 0, INF, "print"),
    Band(14, "  its JSD from the base", ADVERSARY, "jsd", ".514 (recalled)", 0, INF, "print"),
    *(
        Band(row, f"pretrained vectors: {what}", cells, value, published, low, high, "print")
        for row, what, cells, value, published, low, high in (
            (2, "accuracy, bilstm", GIVEN, "accuracy", ".808", 0.79, 0.84),
            (3, "tau attention-gradient, average", GIVEN_AVERAGE, "tau_gradient", ".606", 0.55, 0.70),
            (4, "tau attention-LOO, average", GIVEN_AVERAGE, "tau_loo", ".623", 0.50, 0.70),
            (5, "tau attention-gradient, bilstm", GIVEN, "tau_gradient", ".351", 0.20, 0.50),
            (6, "tau attention-LOO, bilstm", GIVEN, "tau_loo", ".291", 0.15, 0.45),
            (7, "tau gradient-LOO, bilstm", GIVEN, "tau_gradient_loo", ".656", 0.50, 0.80),
            (10, "max JSD at .05, bilstm, class 0", GIVEN, "jsd_0", ".491", 0.40, 0.60),
            (10, "max JSD at .05, bilstm, class 1", GIVEN, "jsd_1", ".500", 0.40, 0.60),
            (11, "permutation, bilstm, class 0", GIVEN, "permuted_0_0", ".027", 0.0, 0.15),
            (11, "permutation, bilstm, class 1", GIVEN, "permuted_1_0", ".032", 0.0, 0.15),
        )
    ),
    Band(0, "tau attention-gradient, cnn additive (1 kernel of 5)", CNN, "tau_gradient", ".477", 0, INF, "print"),
)


@dataclass(frozen=True, slots=True)
class Ordering:
    """A paired difference per seed, and the bound for its mean."""

    what: str
    difference: Callable[[Table, int], float]
    low: float = -INF
    high: float = INF


def _value(table: Table, cells: tuple[str, str, str], seed: int, name: str) -> float:
    return table[cells][seed][name]


def _ceiling(encoder: str, attention: str, kind: str = "agreement") -> Callable[[Table, int], float]:
    cells = (kind, encoder, attention)
    return lambda t, s: _value(t, cells, s, "tau_gradient_loo") - _value(t, cells, s, "tau_loo")


ORDERINGS = (
    Ordering(
        "average > bilstm in attention-gradient agreement",
        lambda t, s: _value(t, AVERAGE, s, "tau_gradient") - _value(t, BILSTM, s, "tau_gradient"),
        low=0.0,
    ),
    Ordering(
        "average > bilstm in attention-gradient agreement, pretrained vectors",
        lambda t, s: _value(t, GIVEN_AVERAGE, s, "tau_gradient") - _value(t, GIVEN, s, "tau_gradient"),
        low=0.0,
    ),
    Ordering(
        "gradient-LOO > attention-LOO, bilstm, pretrained vectors",
        _ceiling("bilstm", "additive", "pretrained"),
        low=0.0,
    ),
    *(
        Ordering(f"gradient-LOO > attention-LOO, {encoder} {attention}", _ceiling(encoder, attention), low=0.0)
        for encoder in ("bilstm", "cnn")
        for attention in ("additive", "dot")
    ),
    Ordering(
        "|uniform - trained| <= .03 in F1, bilstm",
        lambda t, s: _value(t, DIAGNOSTIC, s, "f1_uniform") - _value(t, DIAGNOSTIC, s, "f1_base"),
        low=-0.03,
        high=0.03,
    ),
    Ordering(
        "adversary at least .05 below uniform in the diagnostic",
        lambda t, s: _value(t, DIAGNOSTIC, s, "f1_probe_uniform") - _value(t, DIAGNOSTIC, s, "f1_probe_adversary"),
        low=0.05,
    ),
)


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean and 95 % interval over seeds (Student)."""
    found = [v for v in values if v == v]
    if not found:
        return {"mean": float("nan"), "low": float("nan"), "high": float("nan"), "sd": float("nan"), "seeds": 0}
    sd = stdev(found) if len(found) > 1 else float("nan")
    half = float(student.ppf(0.975, len(found) - 1)) * sd / len(found) ** 0.5 if len(found) > 1 else float("nan")
    centre = mean(found)
    return {"mean": centre, "low": centre - half, "high": centre + half, "sd": sd, "seeds": len(found)}


def compared(table: Table) -> list[dict[str, Any]]:
    """Return every band: ours over the finished seeds, beside the published value."""
    rows = []
    for band in BANDS:
        seeds = table.get(band.cells, {})
        ours = spread([values[band.value] for values in seeds.values() if band.value in values])
        inside = band.low <= ours["mean"] <= band.high if ours["seeds"] else None
        rows.append({
            "row": band.row, "what": band.what, "published": band.published, "gate": band.gate, "inside": inside,
            "band": [band.low, None if band.high == INF else band.high],
            "per_seed": {str(s): values.get(band.value) for s, values in sorted(seeds.items())}, **ours,
        })  # fmt: skip
    return rows


def ordered(table: Table) -> list[dict[str, Any]]:
    """Return every ordering, over the seeds for which both sides are finished."""
    rows = []
    for ordering in ORDERINGS:
        found: dict[int, float] = {}
        for seed in range(5):
            try:
                found[seed] = ordering.difference(table, seed)
            except KeyError:
                continue
        ours = spread([*found.values()])
        holds = bool(ordering.low <= ours["mean"] <= ordering.high) if found else None
        # one seed leaves no interval: NaN compares as false
        sure = bool(ours["low"] >= ordering.low and ours["high"] <= ordering.high)
        rows.append({"what": ordering.what, "holds": holds, "interval_clear": sure, **ours,
                     "per_seed": {str(s): d for s, d in found.items()}})  # fmt: skip
    return rows


def shown_band(row: Mapping[str, Any]) -> str:
    low, high = row["band"]
    band = (
        "" if row["gate"] == "print" and high is None else f"band {low:.2f} to {'-' if high is None else f'{high:.2f}'}"
    )
    mark = "    " if row["inside"] is None or not band else "ok  " if row["inside"] else "OUT "
    row_number = f"row {row['row']:2}" if row["row"] else "      "
    return f"{mark}{row_number} {row['what']:54} {_ours(row):38} published {row['published']:16} {band}"


def shown_ordering(row: Mapping[str, Any]) -> str:
    mark = "    " if row["holds"] is None else "ok  " if row["holds"] else "MISS"
    clear = "" if row["seeds"] < 2 else "  (interval clear)" if row["interval_clear"] else "  (interval not clear)"
    return f"{mark} {row['what']:60} difference {_ours(row)}{clear}"


def _ours(row: Mapping[str, Any]) -> str:
    if not row["seeds"]:
        return "not run"
    many = row["seeds"] > 1
    return (
        f"{row['mean']:.3f}"
        + (f" [{row['low']:.3f}, {row['high']:.3f}]" if many else "")
        + f" ({row['seeds']} seed{'s' if many else ''})"
    )
