"""`regard support`: try every method on one example and report which work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import ModelChoice, image_option, model_options, one_example, row_options
from regard.cli.progress import bar
from regard.cli.verb import verb
from regard.errors import phrase
from regard.present.messages.messages import say

if TYPE_CHECKING:
    from regard.models.read.text import Overflow
    from regard.protocols import Model
    from regard.records import Example, Relevance, Spec
    from regard.store.shard_result import ShardResult

KINDS = ("explainer", "metric")
PREFERRED = ("attention", "integrated_gradients", "leave_one_out")
"""Explainers on which a metric is tried first: one by weights, one that sums to the objective, one by removal."""
MOST_TRIED = 4
SENTENCE = "A quiet, moving film that never begs for tears."


@verb(
    "support",
    "regard support bilstm",
    "regard support ./model --text 'a text of the kind it reads'",
    "regard support ./image-model --data digits --json",
)
@click.argument("model")
@click.option("--text", help="Text to try the methods on (default: a built-in sentence).")
@image_option
@click.option("--pair", help="Second text, for models that take a pair.")
@click.option("--data", help="Try the methods on a row of this dataset instead.")
@click.option("--row", type=int, default=0, show_default=True, help="Row of the dataset.")
@row_options
@model_options
def command(
    model: str,
    text: str | None,
    image: Path | None,
    pair: str | None,
    data: str | None,
    row: int,
    device: str,
    task: str | None,
    overflow: Overflow,
    as_json: bool,
) -> None:
    choice = ModelChoice(model, device, task, overflow)
    console = remarks()
    console.print(say("term.opening", source=model), style="dim", markup=False)
    with bar(console, making=choice.making):
        live = choice.open()
    data = data or (None if text or image else _own_data(model))
    if text is None and image is None and data is None and live.modality == "image":
        example = _noise_picture()
    else:
        example = one_example(text or (None if data or image else SENTENCE), pair, data, row, image=image)
    attempts = _tried(live, live.windows(example)[0])
    if as_json:
        about = {"model": live.name, "task": live.task, "operators": list(live.operators)}
        print_json({**about, "methods": list(attempts)})
        return
    _stream(live, attempts)


def _stream(model: Model, attempts: Iterator[dict[str, Any]]) -> None:
    """Print a row as soon as its method was tried."""
    from rich.text import Text

    from regard.present.messages.messages import columns, render
    from regard.registry import names

    out = results()
    operators = ", ".join(model.operators)
    out.print(say("term.list.removed_by", model=model.name, task=model.task, operators=operators), markup=False)
    head = columns("term.list.support")
    widths = [
        max(len(word) for word in (head[0], "explainer", "metric")),
        max(len(name) for kind in KINDS for name in names(kind)),
        max(len(head[2]), len(say("term.list.yes")), len(say("term.list.no"))),
    ]

    def line(cells: Sequence[str], style: str = "") -> None:
        fixed = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False))
        room = max(20, out.width - len(fixed) - 2)
        first, *more = Text(cells[-1]).wrap(out, room) or [Text("")]
        out.print(Text(f"{fixed}  {first.plain}".rstrip(), style=style))
        for rest in more:
            out.print(Text(" " * (len(fixed) + 2) + rest.plain, style=style))

    line(head, "dim")
    for attempt in attempts:
        works = say("term.list.yes" if attempt["works"] else "term.list.no")
        line((attempt["kind"], attempt["name"], works, render(attempt["why"]) or attempt["needs"]))


def _noise_picture() -> Example:
    """A picture of random colours, to try the methods on."""
    import numpy as np

    from regard.records import Example, frozen

    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3))
    return Example("random picture", {"image": frozen(pixels, np.uint8)})


def _own_data(model: str) -> str | None:
    """Return the dataset of a named model if it is not text."""
    from regard.registry import entry, named_model

    spec = named_model(model)
    facts = entry(spec.kind, spec.name).facts if spec is not None else {}
    return str(facts["data"]) if facts.get("modality", "text") != "text" and "data" in facts else None


def _tried(model: Model, example: Example) -> Iterator[dict[str, Any]]:
    """Run every explainer and metric once on one example, one after the other."""
    from regard.audits.shard import Settings, compute
    from regard.errors import RegardError
    from regard.records import Spec
    from regard.registry import entry, names

    model.encode(example)  # an example that cannot be read says nothing about the methods
    relevances: dict[Spec, Relevance] = {}
    for kind in KINDS:
        for name in names(kind):
            try:
                entry(kind, name)
            except RegardError as error:
                yield {"kind": kind, "name": name, "works": False, "why": str(error), "needs": ""}
                continue
            spec = Spec(kind, name)
            if kind == "explainer":
                page = compute(model, [example], Settings((spec,)))
                if not page.rows:
                    reason = next((p.message for p in page.problems), say("term.list.no_answer"))
                    raise RegardError(
                        phrase("errors.common.model_live", live=model.name),
                        expected=phrase("errors.cli.answer_one_example"),
                        got=reason,
                    )
                relevances |= {spec: page.relevances[0]} if page.relevances else {}
                yield _attempt(spec, page, works=bool(page.relevances))
            else:
                yield _scored(model, example, spec, relevances)


def _scored(model: Model, example: Example, metric: Spec, relevances: Mapping[Spec, Relevance]) -> dict[str, Any]:
    """Try a metric on explainers that work, until one of them gets a score."""
    from regard.audits.shard import Settings, compute
    from regard.store.shard_result import ShardResult

    order = sorted(relevances, key=lambda spec: PREFERRED.index(spec.name) if spec.name in PREFERRED else MOST_TRIED)
    page = ShardResult(())
    for spec in order[:MOST_TRIED]:
        page = compute(model, [example], Settings((), (metric,)), known={spec: relevances[spec]})
        if page.scores:
            break
    return _attempt(metric, page, works=bool(page.scores))


def _attempt(spec: Spec, page: ShardResult, *, works: bool) -> dict[str, Any]:
    from regard.registry import entry

    reasons = {**{p.stage: p.message for p in page.problems}, **page.skipped}
    texts = {key: str(reason) for key, reason in reasons.items()}
    needs = entry(spec.kind, spec.name).facts.get("needs")
    needed = say("term.list.needs", what=", ".join(map(str, needs))) if isinstance(needs, list) and needs else ""
    why = "" if works else _reason(spec.kind, spec.name, texts)
    return {"kind": spec.kind, "name": spec.name, "works": works, "why": why, "needs": needed}


def _reason(kind: str, name: str, reasons: dict[str, str]) -> str:
    keys = [k for k in reasons if k == name or k.startswith((f"{kind} {name}", f"{name}:"))]
    return reasons[keys[0]] if keys else say("term.list.no_value")
