"""A walk-through of one row of attention in a terminal: tables that fit 100 columns, and what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from regard.measures.walkthrough import AGREES, Walkthrough
from regard.present.terminal import plain_table
from regard.present.wording import count
from regard.records import Floats, Ints

NAME = 12
"""Letters of a unit's name."""


def walkthrough_view(found: Walkthrough, *, features: int = 6, keys: int = 8) -> RenderableType:
    """The steps in order: query and keys, products and their sum, scores and weights, the weighted values."""
    shown = found.strongest(keys)
    columns = found.features(features, shown)
    parts: list[RenderableType] = [_title(found)]
    parts += [Text(note, style="dim") for note in found.notes]
    parts += [*_vectors(found, shown, columns), *_products(found, shown, columns), *_scores(found, shown)]
    parts += [*_output(found, shown, features), Text(""), *_checks(found)]
    return Group(*parts)


def _title(found: Walkthrough) -> Text:
    head = f"head {found.head} of {found.heads}" if found.heads > 1 else "the only head"
    where = f"{found.model}: layer {found.layer}, {head} ({found.site})"
    return Text(f"{where}\nquery: {found.query_name} (position {found.query_at})", style="bold")


def _name(found: Walkthrough, key: int) -> str:
    name = found.key_names[key]
    return f"{key} {name if len(name) <= NAME else name[: NAME - 1] + '…'}"


def _row(name: str, values: Floats) -> list[str]:
    return [name, *(f"{v:.3f}" for v in values)]


def _left_out(found: Walkthrough, columns: Ints) -> str:
    d = found.steps.query.shape[0]
    return "" if len(columns) == d else f"; {len(columns)} of {d} features, those with the largest products"


def _step(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), plain_table(head, rows, right=range(1, len(head)))]


def _vectors(found: Walkthrough, shown: Ints, columns: Ints) -> list[RenderableType]:
    steps = found.steps
    additive = found.form == "additive"
    squashed = "tanh features" if np.abs(steps.keys).max(initial=0.0) <= 1.0 and (steps.keys < 0).any() else "features"
    what = f"the learned vector v and, per key, the {squashed} it is multiplied with" if additive else "query and keys"
    first = "v (learned)" if additive else "query q"
    rows = [_row(first, steps.query[columns]), *(_row(_name(found, int(k)), steps.keys[k, columns]) for k in shown)]
    return _step(f"1. {what}{_left_out(found, columns)}", ["", *(f"f{j}" for j in columns)], rows)


def _products(found: Walkthrough, shown: Ints, columns: Ints) -> list[RenderableType]:
    steps = found.steps
    rest = np.setdiff1d(np.arange(steps.query.shape[0]), columns)
    rows = []
    for k in shown:
        numbers = steps.products[k, columns]
        others = [f"{float(steps.products[k, rest].sum()):.3f}"] if len(rest) else []
        rows.append([*_row(_name(found, int(k)), numbers), *others, f"{float(steps.dots[k]):.3f}"])
    symbol = "v x f" if found.form == "additive" else "q x k"
    head = [symbol, *(f"f{j}" for j in columns), *([f"{len(rest)} others"] if len(rest) else []), "sum = dot"]
    return _step("2. element-wise products; the dot is the sum of all features, shown or not", head, rows)


def _scores(found: Walkthrough, shown: Ints) -> list[RenderableType]:
    steps = found.steps
    changed = bool(np.any(np.abs(steps.added[shown]) > 1e-5))  # less is the rounding of the model's own float32
    head = ["key", "dot", f"x {steps.factor:.4f}", *(["+ added"] if changed else []), "exp(score - max)", "weight"]
    rows = []
    for k in shown:
        added = [_amount(float(steps.added[k]))] if changed else []
        numbers = [f"{steps.dots[k]:.3f}", f"{steps.scaled[k]:.3f}", *added, f"{steps.exponentials[k]:.4f}"]
        rows.append([_name(found, int(k)), *numbers, f"{steps.weights[k]:.4f}"])
    scale = "scaled by 1 / sqrt(features)" if np.isclose(steps.factor, steps.query.shape[0] ** -0.5) else "scaled"
    if steps.factor == 1.0:
        scale = "not scaled after the product"
    parts = _step(f"3. scores, {scale}, and their softmax", head, rows)
    said = f"sum of all {count(len(steps.weights), 'exponential')}: {steps.total:.4f}"
    hidden = int(np.sum(steps.exponentials == 0.0))
    out = len(steps.weights) - len(shown)
    if out:
        share = 1.0 - float(steps.weights[shown].sum())
        said += f"; {count(out, 'key')} not shown, with {max(share, 0.0):.4f} of the weight together"
    if hidden:
        said += f"; {count(hidden, 'key')} hidden by the mask (minus infinity)"
    if changed:
        said += "; 'added' is the mask or bias of the model"
    if steps.sink is not None:
        said += f"; a sink of score {steps.sink:.3f} takes {1.0 - float(steps.weights.sum()):.4f}"
    return [*parts, Text(said, style="dim")]


def _amount(value: float) -> str:
    return "-inf" if value < -1e8 else f"{value + 0.0:.3f}"


def _output(found: Walkthrough, shown: Ints, features: int) -> list[RenderableType]:
    steps = found.steps
    if steps.values is None or steps.output is None:
        return [Text("\n4. the values of this site are not seen: the weighted sum is left out", style="dim")]
    order = np.argsort(-np.abs(steps.output), kind="stable")[:features]
    columns = np.sort(order)
    weighted = steps.weights[:, None] * steps.values
    rows = [_row(_name(found, int(k)), weighted[k, columns]) for k in shown]
    rest = np.setdiff1d(np.arange(len(steps.weights)), shown)
    if len(rest):
        rows.append(_row(f"{len(rest)} others", weighted[rest][:, columns].sum(0)))
    rows.append(_row("output", steps.output[columns]))
    left = "" if len(columns) == len(steps.output) else f"; {len(columns)} of {len(steps.output)} features, the largest"
    title = f"4. weight x value, and their sum: the output of this head{left}"
    return _step(title, ["w x v", *(f"f{j}" for j in columns)], rows)


def _checks(found: Walkthrough) -> Sequence[RenderableType]:
    verdict = "equals" if found.agrees else "DOES NOT EQUAL"
    words = f"self-check: the softmax of these scores {verdict} the captured weights"
    lines = [f"{words} (largest difference {found.difference:.0e}, limit {AGREES:.0e})"]
    if found.output_difference is not None:
        lines.append(f"self-check: the output differs from the model's own by {found.output_difference:.0e} at most")
    return [Text(line, style="green" if found.agrees else "bold red") for line in lines]
