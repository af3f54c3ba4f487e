"""Walk-through of one row of attention in a terminal: tables that fit 100 columns, and a note of what they omit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from regard.measures.walkthrough import AGREES, Walkthrough
from regard.present.messages.messages import columns as headings
from regard.present.messages.messages import count, render, say
from regard.present.terminal.terminal import plain_table
from regard.records import Floats, Ints

NAME = 12
"""Maximum characters of a unit's name."""


def walkthrough_view(found: Walkthrough, *, features: int = 6, keys: int = 8) -> RenderableType:
    """The steps in order: query and keys, products and their sum, scores and weights, the weighted values."""
    key_index = found.strongest(keys)
    columns = found.features(features, key_index)
    parts: list[RenderableType] = [_title(found)]
    parts += [Text(render(note), style="dim") for note in found.notes]
    parts += [*_vectors(found, key_index, columns), *_products(found, key_index, columns), *_scores(found, key_index)]
    parts += [*_output(found, key_index, features), Text(""), *_checks(found)]
    return Group(*parts)


def _title(found: Walkthrough) -> Text:
    head = say("term.only_head") if found.heads == 1 else say("term.head_of", head=found.head, heads=found.heads)
    query = say("term.capture.answer") if found.query_name == "answer" else found.query_name
    title = say(
        "term.walk.title",
        model=found.model,
        layer=found.layer,
        head=head,
        site=found.site,
        query=query,
        at=found.query_at,
    )
    return Text(title, style="bold")


def _name(found: Walkthrough, key: int) -> str:
    name = found.key_names[key]
    return f"{key} {name if len(name) <= NAME else name[: NAME - 1] + '…'}"


def _row(name: str, values: Floats) -> list[str]:
    return [name, *(f"{v:.3f}" for v in values)]


def _left_out(found: Walkthrough, columns: Ints) -> str:
    d = found.steps.query.shape[0]
    return "" if len(columns) == d else say("term.walk.left", shown=len(columns), all=d)


def _step(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), plain_table(head, rows, right=range(1, len(head)))]


def _vectors(found: Walkthrough, shown: Ints, columns: Ints) -> list[RenderableType]:
    steps = found.steps
    additive = found.form == "additive"
    squashed = np.abs(steps.keys).max(initial=0.0) <= 1.0 and (steps.keys < 0).any()
    what = say(f"term.walk.{('learned_tanh' if squashed else 'learned') if additive else 'query_keys'}")
    first = say("term.walk.v" if additive else "term.walk.q")
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
    head = [symbol, *(f"f{j}" for j in columns), *([say("term.walk.others", n=len(rest))] if len(rest) else [])]
    return _step(say("term.walk.products"), [*head, say("term.walk.sum")], rows)


def _scores(found: Walkthrough, shown: Ints) -> list[RenderableType]:
    steps = found.steps
    has_additions = bool(np.any(np.abs(steps.added[shown]) > 1e-5))  # less is the rounding of the model's own float32
    key, dot, plus, *last = headings("term.walk.scores_columns")
    head = [key, dot, f"x {steps.factor:.4f}", *([plus] if has_additions else []), *last]
    rows = []
    for k in shown:
        added = [_amount(float(steps.added[k]))] if has_additions else []
        numbers = [f"{steps.dots[k]:.3f}", f"{steps.scaled[k]:.3f}", *added, f"{steps.exponentials[k]:.4f}"]
        rows.append([_name(found, int(k)), *numbers, f"{steps.weights[k]:.4f}"])
    scale = "by_root" if np.isclose(steps.factor, steps.query.shape[0] ** -0.5) else "scaled"
    scale = say(f"term.walk.{'unscaled' if steps.factor == 1.0 else scale}")
    parts = _step(say("term.walk.scores", scale=scale), head, rows)
    caption = say("term.walk.total", exponentials=count(len(steps.weights), "exponential"), total=f"{steps.total:.4f}")
    hidden = int(np.sum(steps.exponentials == 0.0))
    out = len(steps.weights) - len(shown)
    if out:
        share = 1.0 - float(steps.weights[shown].sum())
        caption += say("term.walk.not_shown", keys=count(out, "key"), share=f"{max(share, 0.0):.4f}")
    if hidden:
        caption += say("term.walk.hidden", keys=count(hidden, "key"))
    if has_additions:
        caption += say("term.walk.added")
    if steps.sink is not None:
        caption += say("term.walk.sink", score=f"{steps.sink:.3f}", share=f"{1.0 - float(steps.weights.sum()):.4f}")
    return [*parts, Text(caption, style="dim")]


def _amount(value: float) -> str:
    return "-inf" if value < -1e8 else f"{value + 0.0:.3f}"


def _output(found: Walkthrough, shown: Ints, features: int) -> list[RenderableType]:
    steps = found.steps
    if steps.values is None or steps.output is None:
        return [Text("\n" + say("term.walk.no_values"), style="dim")]
    order = np.argsort(-np.abs(steps.output), kind="stable")[:features]
    columns = np.sort(order)
    weighted = steps.weights[:, None] * steps.values
    rows = [_row(_name(found, int(k)), weighted[k, columns]) for k in shown]
    rest = np.setdiff1d(np.arange(len(steps.weights)), shown)
    if len(rest):
        rows.append(_row(say("term.walk.others", n=len(rest)), weighted[rest][:, columns].sum(0)))
    rows.append(_row(say("term.walk.output"), steps.output[columns]))
    whole = len(columns) == len(steps.output)
    left = "" if whole else say("term.walk.output_left", shown=len(columns), all=len(steps.output))
    title = say("term.walk.weighted", left=left)
    return _step(title, ["w x v", *(f"f{j}" for j in columns)], rows)


def _checks(found: Walkthrough) -> Sequence[RenderableType]:
    key = "term.walk.equals" if found.agrees else "term.walk.differs"
    lines = [say(key, off=f"{found.difference:.0e}", limit=f"{AGREES:.0e}")]
    if found.output_difference is not None:
        lines.append(say("term.walk.output_off", off=f"{found.output_difference:.0e}"))
    return [Text(line, style="green" if found.agrees else "bold red") for line in lines]
