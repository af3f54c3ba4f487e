"""Every cell that Jain & Wallace published for SST with an encoder that is run here too, beside ours.

Sources. "released": graph_outputs/ of github.com/successar/AttentionExplanation at commit 425a89a, the files
GradientPval_kendalltau, pyxc-pyc_pval_kendalltau, CorrStats_kendalltau (row gl) and evaluate. "figure": medians decoded
from their drawings (eMaxJDS_Hist, Permutation_MAvDY). Theirs is one run each; ours are five seeds.
Their cnn has four widths (1, 3, 5, 7) and ours one: another encoder, so its cells are not here.

`python -m benchmarks.replicate.published` writes the comparison into results/replicate.json from the cells that are
stored there, and prints it as Markdown; nothing is trained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.replicate.tables import Table, spread

RESULT = Path(__file__).parents[1] / "results" / "replicate.json"
NOT_AT_HAND = "published value not at hand"
NAMES = {
    "accuracy": "accuracy", "f1": "F1", "roc": "ROC area", "tau_gradient": "tau attention-gradient",
    "sd_gradient": "its sd over texts", "significant_gradient": "its share p <= .05",
    "tau_loo": "tau attention-LOO", "sd_loo": "its sd over texts", "significant_loo": "its share p <= .05",
    "tau_gradient_loo": "tau gradient-LOO", "sd_gradient_loo": "its sd over texts",
    "significant_gradient_loo": "its share p <= .05",
    "jsd_0": "max JSD at .05, class 0", "jsd_1": "max JSD at .05, class 1",
    "permuted_0_0": "permutation, max < .25, class 0", "permuted_1_0": "permutation, max < .25, class 1",
    "permuted_0_0.25": "permutation, .25 to .5, class 0", "permuted_1_0.25": "permutation, .25 to .5, class 1",
    "permuted_0_0.5": "permutation, .5 to .75, class 0", "permuted_1_0.5": "permutation, .5 to .75, class 1",
    "permuted_0_0.75": "permutation, from .75, class 0", "permuted_1_0.75": "permutation, from .75, class 1",
    "jsd_above_0": "share above .4, class 0", "jsd_above_1": "share above .4, class 1",
}  # fmt: skip
RELEASED: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("bilstm", "additive"): (.808, .784, .902, .351, .211, .49, .291, .191, .36, .656, .163, .91),
    ("bilstm", "dot"): (.823, .817, .900, .073, .205, .09, .064, .200, .07, .708, .136, .94),
    ("average", "additive"): (.807, .800, .895, .606, .201, .85, .623, .155, .88, .558, .250, .73),
    ("average", "dot"): (.799, .777, .896, .347, .217, .50, .314, .175, .42, .661, .236, .82),
}  # fmt: skip
"""The first twelve of `NAMES`."""
FIGURES: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("bilstm", "additive"): {
        "jsd_0": .491, "jsd_1": .500, "permuted_0_0": .027, "permuted_1_0": .032, "permuted_0_0.25": .047,
        "permuted_1_0.25": .035, "permuted_0_0.5": .079, "permuted_1_0.5": .062, "permuted_0_0.75": .107,
        "jsd_above_0": .81, "jsd_above_1": .83,
    },
    ("average", "additive"): {"jsd_0": .474, "jsd_1": .497, "permuted_0_0": .215, "permuted_1_0": .111},
}  # fmt: skip


def published(encoder: str, attention: str) -> dict[str, tuple[float | None, str]]:
    """Map each value to the published one and its source."""
    numbers = dict(zip(NAMES, RELEASED[encoder, attention], strict=False))
    drawn = FIGURES.get((encoder, attention), {})
    found: dict[str, tuple[float | None, str]] = {name: (number, "released") for name, number in numbers.items()}
    for name in [*NAMES][len(numbers) :]:
        found[name] = (drawn[name], "figure") if name in drawn else (None, NOT_AT_HAND)
    return found


def cells_beside(table: Table) -> list[dict[str, Any]]:
    """Return every published cell: theirs, ours with random and with pretrained vectors, and the difference of ours."""
    rows = []
    for encoder, attention in RELEASED:
        for value, (theirs, source) in published(encoder, attention).items():
            ours, given = (_seeds(table, (kind, encoder, attention), value) for kind in ("agreement", "pretrained"))
            if theirs is None and not ours:
                continue
            apart = [v - theirs for v in ours.values()] if theirs is not None else []
            rows.append({
                "encoder": encoder, "attention": attention, "value": value, "published": theirs, "source": source,
                "ours": spread([*ours.values()]), "per_seed": ours, "pretrained": spread([*given.values()]),
                "difference": spread(apart)["mean"] if apart else None,
                "one_side": bool(apart) and (min(apart) > 0 or max(apart) < 0),
            })  # fmt: skip
    return rows


def _seeds(table: Table, cells: tuple[str, str, str], value: str) -> dict[str, float]:
    """Map each seed to its value, where it is defined."""
    found = {str(s): values.get(value) for s, values in sorted(table.get(cells, {}).items())}
    return {s: v for s, v in found.items() if v is not None and v == v}


def orders_beside(table: Table) -> list[dict[str, Any]]:
    """Gradient-LOO minus attention-LOO: theirs, and each seed of ours."""
    rows = []
    for encoder, attention in RELEASED:
        known = published(encoder, attention)
        high, low = known["tau_gradient_loo"][0], known["tau_loo"][0]
        assert high is not None
        assert low is not None
        row: dict[str, Any] = {"encoder": encoder, "attention": attention, "published": round(high - low, 3)}
        for kind in ("agreement", "pretrained"):
            cells = (kind, encoder, attention)
            gl, al = (_seeds(table, cells, name) for name in ("tau_gradient_loo", "tau_loo"))
            row[kind] = {s: gl[s] - al[s] for s in gl if s in al}
        same = [(d > 0) == (row["published"] > 0) for d in row["agreement"].values()]
        rows.append({**row, "seeds_in_the_published_order": sum(same), "seeds": len(same)})
    return rows


def table_of(record: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[int, dict[str, float]]]:
    found: dict[tuple[str, str, str], dict[int, dict[str, float]]] = {}
    for r in record["cells"]:
        found.setdefault((r["kind"], r["encoder"], r["attention"]), {})[r["seed"]] = r["values"]
    return found


def as_markdown(rows: Sequence[Mapping[str, Any]], orders: Sequence[Mapping[str, Any]]) -> list[str]:
    """Print the cells by setting, then the orders; mark differences with one sign in all seeds."""
    lines = ["| encoder, attention | quantity | published | ours, 5 seeds | difference | pretrained vectors |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        theirs = row["source"] if row["published"] is None else _short(row["published"])
        theirs += " (figure)" if row["source"] == "figure" else ""
        apart = "" if row["difference"] is None else f"{row['difference']:+.3f}" + (" *" if row["one_side"] else "")
        name = f"{row['encoder']}, {row['attention']}"
        cells = (name, NAMES[row["value"]], theirs, _ours(row["ours"]), apart, _ours(row["pretrained"], ends=False))
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| gradient-LOO minus attention-LOO | published | ours, seeds 0 to 4 | in the published order |",
        "|---|---|---|---|",
    ]
    for row in orders:
        ours = ", ".join(f"{d:+.3f}" for d in row["agreement"].values())
        kept = f"{row['seeds_in_the_published_order']} of {row['seeds']}"
        lines.append(f"| {row['encoder']}, {row['attention']} | {row['published']:+.3f} | {ours} | {kept} |")
    return lines


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _ours(found: Mapping[str, Any], *, ends: bool = True) -> str:
    """Return the mean, with the interval over seeds if there are several."""
    if not found["seeds"]:
        return ""
    interval = f" [{_short(found['low'])}, {_short(found['high'])}]" if ends and found["seeds"] > 1 else ""
    few = f" ({found['seeds']} seeds)" if found["seeds"] < 5 else ""
    return _short(found["mean"]) + interval + few


def main() -> None:
    from benchmarks.replicate.__main__ import _plain

    record = json.loads(RESULT.read_text("utf-8"))
    table = table_of(record)
    record["published_cells"], record["published_orders"] = cells_beside(table), orders_beside(table)
    RESULT.write_text(json.dumps(_plain(record), indent=1) + "\n", "utf-8")
    print("\n".join(as_markdown(record["published_cells"], record["published_orders"])))


if __name__ == "__main__":
    main()
