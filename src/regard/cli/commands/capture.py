"""`regard capture`: every attention map of a forward pass, one as a heat map, and how each was verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from regard.cli.model_options import ModelChoice, model_options, recording_options
from regard.cli.progress import bar
from regard.cli.row_option import new_rows, typed_rows
from regard.cli.shared_options import seed_option, seeded
from regard.cli.verb import verb
from regard.errors import InputError, UnknownName, phrase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.models.capture_generation import Generated
    from regard.protocols import Capture, Model, SiteAttention
    from regard.records import Check, Example, Mode


@verb(
    "capture",
    "regard capture bilstm --text 'a quiet, moving film'",
    "regard capture minilm --text 'a quiet, moving film' --site encoder.layer.5.attention.self --head 3",
    "regard capture ./model --text 'two words' --mode weights --check always --json",
    "regard capture smollm2 --text 'The capital of France is' --generate 5",
    "regard capture whisper --audio speech.wav --generate 30",
    "regard capture smollm2 --text 'a long prompt ...' --rows last",
)
@click.argument("model")
@input_options
@click.option("--site")
@click.option("--head", type=int)
@click.option("--generate", type=click.IntRange(min=1))
@click.option("--rows", metavar="ROWS")
@click.option("--mode", type=click.Choice(["qk", "weights"]), default="qk", show_default=True)
@click.option("--check", type=click.Choice(["first", "always", "never"]), default="first", show_default=True)
@row_options
@recording_options
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
    site: str | None,
    head: int | None,
    generate: int | None,
    rows: str | None,
    mode: Mode,
    check: Check,
    seed: int,
    as_json: bool,
) -> None:
    example = one_example(text, pair, data, row, image=image, audio=audio)
    from regard.audits.preconditions import examine
    from regard.audits.resolve import unknown_words
    from regard.models.capture import capture
    from regard.present.messages.messages import render, say

    choice = ModelChoice.of_command(model)
    with bar(remarks(), making=choice.making):
        live = choice.open()
    windows = live.windows(example)
    label = row_label(live)
    with seeded(seed):
        generated = None if generate is None else _written(live, windows[0], generate, new_rows(rows))
        wanted_rows = None if rows is None or generate is not None else typed_rows(rows)
        captured = generated or capture(live, windows[0], mode=mode, check=check, rows=wanted_rows)
    selected = _chosen(captured.sites, site)
    weights = _weights(selected, head)
    names = _axis_names(captured, selected)
    notes = [*live.notes, *unknown_words(live, windows[:1])]
    tested = examine(live, windows[:1])
    if as_json:
        fields = _as_json(
            captured, selected, weights=weights, names=names, model=live.name, mode=mode, windows=len(windows)
        )
        generation = {} if generated is None else {"written": generated.text, "made": list(generated.made)}
        labelled = {} if label is None else {"label": label}
        print_json({**fields, **labelled, **generation, "preconditions": tested.to_json(), "notes": notes})
    else:
        if generated is not None:
            results().print(say("term.capture.wrote", text=repr(generated.text)), markup=False)
        for line in row_label_line(label):
            results().print(line, markup=False)
        for sentence in tested.sentences():
            results().print(say("term.capture.before", sentence=render(sentence)), markup=False, style="bold yellow")
        _show(
            captured,
            selected,
            weights=weights,
            names=names,
            head=head,
            model=live.name,
            mode=mode,
            windows=len(windows),
        )
        for note in notes:
            results().print(say("term.note", text=render(note)), markup=False, style="yellow")


def _written(live: Model, example: Example, tokens: int, rows: Literal["new"] | None) -> Generated:
    from regard.models.capture_generation import capture_generation

    return capture_generation(live, example, new_tokens=tokens, rows=rows)


def _chosen(sites: Sequence[SiteAttention], name: str | None) -> SiteAttention:
    by_key = {s.site.key: s for s in sites}
    if name is None:
        return list(by_key.values())[-1]
    ending = [s for key, s in by_key.items() if key == name or key.endswith("." + name)]
    if not ending:
        raise UnknownName("site", name, by_key)
    return ending[-1]


def _weights(site: SiteAttention, head: int | None) -> NDArray[np.float32]:
    """Return the (query, key) weights of one head, or the mean of all."""
    _, heads, queries, _ = site.shape
    if head is not None and not 0 <= head < heads:
        raise InputError(
            f"--head {head}",
            expected=phrase("errors.cli.head_in_range", site=site.site.key, heads=heads - 1),
            got=str(head),
        )
    from regard.present.pack.rows import captured_positions

    rows = site.rows(0, captured_positions(site) or range(queries), None if head is None else [head])
    mean: NDArray[np.float32] = rows.mean(axis=0)
    return mean


def _axis_names(found: Capture, site: SiteAttention) -> tuple[list[str], list[str]]:
    """Return the row and column names of a site: input units or generated tokens."""
    from regard.models.capture_generation import Generated
    from regard.models.captured import Captured
    from regard.present.pack.axes import axes_of
    from regard.present.pack.rows import captured_positions

    tokens: Sequence[str] | None = found.made if isinstance(found, Generated) else None
    if isinstance(found, Captured) and found.task == "sequence_to_sequence":
        tokens = found.written[0]
    sites, shapes = [s.site for s in found.sites], [s.shape for s in found.sites]
    axes, where = axes_of(found.units[0], sites, shapes, given={}, made=tokens)
    rows, columns = where[[s.key for s in sites].index(site.site.key)]
    positions = captured_positions(site)
    queries = axes[rows].names if positions is None else [axes[rows].names[row] for row in positions]
    return queries, axes[columns].names


def _as_json(
    found: Capture,
    site: SiteAttention,
    weights: NDArray[np.float32],
    names: tuple[list[str], list[str]],
    model: str,
    mode: str,
    windows: int,
) -> dict[str, Any]:
    from regard.present.pack.rows import captured_positions

    sites = [
        {
            "site": s.site.key,
            "kind": s.site.kind,
            "layer": s.site.layer,
            "heads": s.site.heads,
            "shape": list(s.shape),
            "module": s.site.module,
        }
        for s in found.sites
    ]
    drawing = {
        "site": site.site.key,
        "positions": captured_positions(site) or list(range(len(weights))),
        "rows": names[0],
        "columns": names[1],
        "weights": weights.tolist(),
    }
    return {
        "model": model,
        "mode": mode,
        "checked": str(found.checked),
        "windows": windows,
        "sites": sites,
        "rejected": [{"place": place, "reason": str(reason)} for place, reason in found.rejected],
        "units": list(found.units[0].names),
        "drawn": drawing,
    }


def _show(
    found: Capture,
    site: SiteAttention,
    weights: NDArray[np.float32],
    names: tuple[list[str], list[str]],
    head: int | None,
    model: str,
    mode: str,
    windows: int,
) -> None:
    from regard.present.axis_names import short_names
    from regard.present.messages.messages import columns, count, render, say
    from regard.present.pack.rows import captured_positions
    from regard.present.terminal.terminal import heat_map, links, plain_table

    out = results()
    if windows > 1:
        out.print(say("term.capture.first_window", n=windows), style="yellow")
    rows = [
        (s.site.key, s.site.kind, str(s.site.layer), str(s.site.heads), f"{_captured_rows(s)} × {s.shape[3]}")
        for s in found.sites
    ]
    title = say("term.capture.title", sites=count(len(rows), "attention_site"), model=model, mode=mode)
    out.print(plain_table(columns("term.capture.columns"), rows, right=(2, 3, 4), title=title))
    out.print(say("term.capture.proof", checked=render(found.checked)), markup=False)
    for place, reason in found.rejected:
        out.print(say("term.capture.not_attention", place=place, reason=render(reason)), markup=False, style="dim")
    heads = site.shape[1]
    queries, keys = map(short_names, names)
    if queries == ("answer",):
        queries = (say("term.capture.answer"),)
    which = say("term.only_head" if heads == 1 else "term.mean_heads", heads=heads)
    which = which if head is None else say("term.head", head=head)
    out.print("\n" + say("term.capture.map", site=site.site.key, which=which), markup=False, style="bold")
    colour = out.is_terminal and not out.no_color
    out.print(heat_map(weights, queries, keys, colour=colour, width=out.width))
    out.print(links(weights, queries, keys, positions=captured_positions(site)))
    out.print("\n" + say("caveat"), markup=False, style="dim")


def _captured_rows(site: SiteAttention) -> int:
    from regard.present.pack.rows import captured_positions

    positions = captured_positions(site)
    return site.shape[2] if positions is None else len(positions)
