"""`regard support`: try every method on one example and report which work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.model_options import ModelChoice, model_options, one_example
from regard.cli.progress import bar
from regard.cli.verb import verb

if TYPE_CHECKING:
    from regard.models.read.text import Overflow
    from regard.protocols import Model
    from regard.records import Example

SENTENCE = "A quiet, moving film that never begs for tears."


@verb(
    "support",
    "regard support bilstm",
    "regard support ./model --text 'a text of the kind it reads'",
    "regard support ./image-model --data digits --json",
)
@click.argument("model")
@click.option("--text", help="Text to try the methods on (default: a built-in sentence).")
@click.option("--pair", help="Second text, for models that take a pair.")
@click.option("--data", help="Try the methods on a row of this dataset instead.")
@click.option("--row", type=int, default=0, show_default=True, help="Row of the dataset.")
@model_options
def command(
    model: str,
    text: str | None,
    pair: str | None,
    data: str | None,
    row: int,
    device: str,
    task: str | None,
    overflow: Overflow,
    as_json: bool,
) -> None:
    choice = ModelChoice(model, device, task, overflow)
    with bar(remarks(), making=choice.making):
        live = choice.open()
    example = one_example(text or (None if data or _own_data(model) else SENTENCE), pair, data or _own_data(model), row)
    attempts = _tried(live, live.windows(example)[0])
    if as_json:
        print_json({"model": live.name, "task": live.task, "operators": list(live.operators), "methods": attempts})
        return
    from regard.present.messages.messages import columns, render, say
    from regard.present.terminal.terminal import plain_table

    out = results()
    out.print(
        say("term.list.removed_by", model=live.name, task=live.task, operators=", ".join(live.operators)), markup=False
    )
    rows = [
        (m["kind"], m["name"], say("term.list.yes" if m["works"] else "term.list.no"), render(m["why"]) or m["needs"])
        for m in attempts
    ]
    out.print(plain_table(columns("term.list.support"), rows))


def _own_data(model: str) -> str | None:
    """Return the dataset of a named model if it is not text."""
    from regard.registry import entry, named_model

    spec = named_model(model)
    facts = entry(spec.kind, spec.name).facts if spec is not None else {}
    return str(facts["data"]) if facts.get("modality", "text") != "text" and "data" in facts else None


def _tried(model: Model, example: Example) -> list[dict[str, Any]]:
    """Run every explainer and metric once on one example."""
    from regard.audits.shard import Settings, compute
    from regard.errors import RegardError
    from regard.present.messages.messages import say
    from regard.records import Spec
    from regard.registry import entry, names

    model.encode(example)  # an example that cannot be read says nothing about the methods
    usable: dict[str, list[Spec]] = {"explainer": [], "metric": []}
    broken = []
    for kind, specs in usable.items():
        for name in names(kind):
            try:
                entry(kind, name)
                specs.append(Spec(kind, name))
            except RegardError as error:
                broken.append({"kind": kind, "name": name, "works": False, "why": str(error), "needs": ""})
    explainers, metrics = usable["explainer"], usable["metric"]
    page = compute(model, [example], Settings(tuple(explainers), tuple(metrics)))
    if not page.rows:
        reason = next((p.message for p in page.problems), "no answer")
        raise RegardError(f"model {model.name}", expected="an answer to one example", got=reason)
    problems = {p.stage: p.message for p in page.problems}
    worked = {r.method for r in page.relevances}
    scored = {s.metric for s in page.scores}
    attempts = []
    for spec in (*explainers, *metrics):
        works = spec.name in (worked if spec.kind == "explainer" else scored)
        why = "" if works else _reason(spec.kind, spec.name, {**problems, **page.skipped})
        needs = entry(spec.kind, spec.name).facts.get("needs")
        requirement = (
            say("term.list.needs", what=", ".join(map(str, needs))) if isinstance(needs, list) and needs else ""
        )
        attempts.append({"kind": spec.kind, "name": spec.name, "works": works, "why": why, "needs": requirement})
    return attempts + broken


def _reason(kind: str, name: str, said: dict[str, str]) -> str:
    keys = [k for k in said if k == name or k.startswith((f"{kind} {name}", f"{name}:"))]
    return said[keys[0]] if keys else "it left no value"
