"""`regard explain`: one input, coloured by what each method says mattered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, remarks, results
from regard.cli.opening import ModelChoice, checked_names, listed, model_options, one_example
from regard.cli.progress import bar
from regard.cli.root import SUMMARIES
from regard.cli.verb import verb

if TYPE_CHECKING:
    from regard.evaluate.explain import Explained
    from regard.models.text import Overflow


@verb(
    "explain",
    "regard explain bilstm --text 'a quiet, moving film'",
    "regard explain ./model --text 'a quiet, moving film' --method attention,leave_one_out,rollout:residual=0.3",
    "regard explain ./model --text 'unbelievably good' --units unit --json",
    "regard explain digits --data digits --row 3",
)
@click.argument("model")
@click.option("--text", help="The text to explain.")
@click.option("--pair", help="The second text, for models that read two.")
@click.option("--data", help="Take the input from a data set instead.")
@click.option("--row", type=int, default=0, show_default=True, help="Which row of the data set.")
@click.option("--method", default="attention,leave_one_out", show_default=True, help="Names separated by commas.")
@click.option("--units", type=click.Choice(["word", "unit"]), default="word", show_default=True,
              help="Words (sums over their pieces), or what the model reads.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
@model_options
def command(
    model: str, text: str | None, pair: str | None, data: str | None, row: int, method: str, units: str, seed: int,
    device: str, task: str | None, overflow: Overflow, as_json: bool,
) -> None:  # fmt: skip
    methods = listed(method) or []
    checked_names("explainer", methods)
    example = one_example(text, pair, data, row)
    from regard.evaluate.explain import explain
    from regard.evaluate.opening import said_by

    with bar(remarks()):
        live = ModelChoice(model, device, task, overflow).open()
    found = explain(live, example, methods, seed=seed)
    if as_json:
        print_json({**_as_json(found, live.name), "notes": said_by(live)})
    else:
        _show(found, live.name, words=units == "word")
        for note in said_by(live):
            results().print(f"note: {note}", markup=False, style="yellow")


def _shown(found: Explained, i: int) -> dict[str, Any]:
    """Example i as the drawings want it."""
    from regard.store.pages import units_to_json

    example = found.examples[i]
    return {"id": example.id, "inputs": dict(example.inputs), "units": units_to_json(found.units[i])}


def _as_json(found: Explained, model: str) -> dict[str, Any]:
    from regard.present.wording import CAVEAT

    examples = []
    for i in range(len(found.examples)):
        shown = _shown(found, i)
        examples.append({
            "text": shown["inputs"].get("text"), "answer": found.said(i), "target": found.targets[i],
            "probability": float(found.answers.probability[i]), "value": float(found.answers.value[i]),
            "units": shown["units"], "relevance": {m: r[i].tolist() for m, r in found.relevance.items()},
        })  # fmt: skip
    signed = {m: r.signed for m, r in found.relevance.items()}
    return {"model": model, "seed": found.seed, "signed": signed, "examples": examples,
            "skipped": dict(found.skipped), "caveat": CAVEAT}  # fmt: skip


def _show(found: Explained, model: str, *, words: bool) -> None:
    from regard.present.terminal import drawing, key, strongest
    from regard.present.wording import CAVEAT
    from regard.present.words import AGGREGATION, gathered

    out = results()
    if len(found.examples) > 1:
        out.print(f"longer than the model reads: shown as {len(found.examples)} overlapping windows", style="yellow")
    for i in range(len(found.examples)):
        example = _shown(found, i)
        in_words = example["units"]["place_kind"] == "span"
        said, probability = found.said(i), float(found.answers.probability[i])
        out.print(f"{model} says {said} (probability {probability:.3f})", markup=False, style="bold")
        for method, relevance in found.relevance.items():
            drawn, values = gathered(example, relevance[i]) if words and in_words else (example, relevance[i])
            out.print()
            out.print(method, markup=False, style="dim", end="  ")
            out.print(key(signed=relevance.signed))
            out.print(drawing(drawn, values, signed=relevance.signed))
            out.print(strongest(drawn, values, signed=relevance.signed))
    for name, why in found.skipped.items():
        out.print(f"\nskipped {name}: {why}", markup=False, style="yellow")
    out.print()
    if words and any("token" in units.kind or "sub" in units.kind for units in found.units):
        out.print(f"Here {AGGREGATION} (--units unit shows the pieces).", markup=False, style="dim")
    out.print(CAVEAT, markup=False, style="dim")


command.help = SUMMARIES["explain"]
