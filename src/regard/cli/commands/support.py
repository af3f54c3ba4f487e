"""`regard support`: try every method on one example and report which work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.example_input import (
    input_options,
    one_example,
    row_label,
    row_label_line,
    row_labels_option,
    row_options,
)
from regard.cli.model_options import ModelChoice, model_options
from regard.cli.picture_support import reads_words_and_pictures, tried_on_picture
from regard.cli.progress import bar
from regard.cli.shared_options import seed_option
from regard.cli.verb import verb
from regard.errors import phrase
from regard.present.messages.messages import id_words, say

if TYPE_CHECKING:
    from regard.protocols import Model
    from regard.records import Example, Relevance, Spec
    from regard.store.shard_result import ShardResult

KINDS = ("explainer", "metric")
PREFERRED = ("attention", "integrated_gradients", "leave_one_out")
"""Explainers to try a metric on: one based on weights, one that sums to the objective, one based on removal."""
MOST_TRIED = 4
SMALL: Mapping[str, Any] = {"samples": 24, "steps": 4, "draws": 2, "bins": 4, "depths": [1.0]}
"""Small values for parameters that only refine a method, because this command only tests whether it runs."""
SENTENCE = "A quiet, moving film that never begs for tears."


@verb(
    "support",
    "regard support bilstm",
    "regard support ./model --text 'a text of the kind it reads'",
    "regard support ./image-model --data digits --json",
)
@click.argument("model")
@input_options
@row_options
@row_labels_option
@seed_option
@model_options
def command(
    model: str,
    text: str | None,
    image: Path | None,
    audio: Path | None,
    pair: str | None,
    data: str | None,
    row: int,
    seed: int,
    as_json: bool,
) -> None:
    from regard.measures.flow import uncompiled
    from regard.models.open.load import named_directory
    from regard.models.trial_input import trial_input

    choice = ModelChoice.of_command(model)
    console = remarks()
    console.print(say("term.opening", source=model), style="dim", markup=False)
    if data is None and audio is None and (image is not None or text is None):
        with bar(console, making=choice.making):
            directory = named_directory(model)
        if reads_words_and_pictures(directory):
            _pictured(directory, model, text, image, seed, as_json=as_json)
            return
    with bar(console, making=choice.making):
        live = choice.open()
    data = data or (None if text or image or audio else _own_data(model))
    example = None
    if all(given is None for given in (text, image, audio, data)):
        example = trial_input(live)
        text = SENTENCE if example is None else None
    if example is None:
        example = one_example(text, pair, data, row, image=image, audio=audio)
    label = row_label(live)
    attempts = _tried(live, live.windows(example)[0], seed)
    if as_json:
        about = {"model": live.name, "task": live.task, "operators": list(live.operators)}
        about |= {} if label is None else {"label": label}
        with uncompiled():
            print_json({**about, "methods": list(attempts)})
        return
    for line in row_label_line(label):
        results().print(line, markup=False)
    with uncompiled():
        operators = ", ".join(live.operators)
        title = say("term.list.removed_by", model=live.name, task=live.task, operators=operators)
        _stream(title, attempts)


def _pictured(directory: str, model: str, text: str | None, image: Path | None, seed: int, *, as_json: bool) -> None:
    """Report the support of a model that reads words and pictures."""
    from regard.models.open.checkpoints import open_pair

    attempts = tried_on_picture(open_pair(directory), text, image, seed)
    if as_json:
        print_json({"model": model, "task": "words and pictures", "methods": list(attempts)})
        return
    _stream(say("term.list.words_and_pictures", model=model), attempts)


def _stream(title: str, attempts: Iterator[dict[str, Any]]) -> None:
    """Print a row as soon as its method was tried."""
    from rich.text import Text

    from regard.present.messages.messages import columns, render
    from regard.registry import names

    out = results()
    out.print(title, markup=False)
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


def _own_data(model: str) -> str | None:
    """Return the dataset of a named model if it is not text."""
    from regard.registry import entry, named_model

    spec = named_model(model)
    facts = entry(spec.kind, spec.name).facts if spec is not None else {}
    return str(facts["data"]) if facts.get("modality", "text") != "text" and "data" in facts else None


def _tried(model: Model, example: Example, seed: int) -> Iterator[dict[str, Any]]:
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
                page = compute(model, [example], Settings((_small(spec),), seed=seed))
                if page.rows and not page.relevances and _small(spec) != spec:
                    page = compute(model, [example], Settings((spec,), seed=seed))
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
                yield _scored(model, example, spec, relevances, seed=seed)


def _small(spec: Spec) -> Spec:
    """Return the method with small parameters."""
    from dataclasses import replace

    from regard.registry import entry

    names = {parameter.name for parameter in entry(spec.kind, spec.name).parameters}
    return replace(spec, params={name: value for name, value in SMALL.items() if name in names})


def _scored(
    model: Model, example: Example, metric: Spec, relevances: Mapping[Spec, Relevance], *, seed: int
) -> dict[str, Any]:
    """Try a metric on explainers that work, until one of them gets a score."""
    from regard.audits.shard import Settings, compute
    from regard.store.shard_result import ShardResult

    order = sorted(relevances, key=lambda spec: PREFERRED.index(spec.name) if spec.name in PREFERRED else MOST_TRIED)
    page = ShardResult(())
    for spec in order[:MOST_TRIED]:
        page = compute(model, [example], Settings((), (_small(metric),), seed=seed), known={spec: relevances[spec]})
        if page.scores:
            break
    return _attempt(metric, page, works=bool(page.scores))


def _attempt(spec: Spec, page: ShardResult, *, works: bool) -> dict[str, Any]:
    from regard.registry import entry

    reasons = {**{p.stage: p.message for p in page.problems}, **page.skipped}
    texts = {key: str(reason) for key, reason in reasons.items()}
    needs = entry(spec.kind, spec.name).facts.get("needs")
    needed = (
        say("term.list.needs", what=say("listed").join(id_words("need", str(n)) for n in needs))
        if isinstance(needs, list) and needs
        else ""
    )
    why = "" if works else _reason(spec.kind, spec.name, texts)
    return {"kind": spec.kind, "name": spec.name, "works": works, "why": why, "needs": needed}


def _reason(kind: str, name: str, reasons: dict[str, str]) -> str:
    keys = [k for k in reasons if k == name or k.startswith((f"{kind} {name}", f"{name}:", f"{name} of "))]
    return reasons[keys[0]] if keys else say("term.list.no_value")
