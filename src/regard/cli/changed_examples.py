"""Output of perturbed examples: on the screen with changes marked, or as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.console import print_json, results
from regard.cli.model_options import Columns
from regard.errors import InputError, phrase
from regard.files import exists
from regard.present.messages.messages import say

if TYPE_CHECKING:
    from regard.protocols import Model
    from regard.records import Example, Perturbed

MOST_PRINTED = 5
"""Maximum changed examples on a screen; `--out` and `--json` have all of them."""


def examples_of(what: str, limit: int | None, columns: Columns = Columns()) -> list[Example]:  # noqa: B008 - frozen
    """Return the examples of a dataset name or file, or a single text."""
    from regard.records import Example
    from regard.registry import names

    if not what.strip():  # as a path it would be this directory
        raise InputError(
            "text", expected=phrase("errors.common.at_least_one_word"), got=phrase("errors.common.empty_text")
        )
    if what.partition(":")[0] in names("dataset") or exists(what):
        data = columns.read(what, limit=limit)
        return [_named(e, data.labels) for e in data]
    if Path(what).suffix in (".csv", ".tsv", ".jsonl", ".json", ".parquet"):
        raise InputError(
            phrase("errors.common.data_path", path=what),
            expected=phrase("errors.common.file"),
            got=phrase("errors.common.no_such_file"),
        )
    if columns != Columns():
        raise InputError(
            "--text-column, --label-column, --skip-bad",
            expected="data",
            got=phrase("errors.common.text_what", what=repr(what)),
        )
    return [Example("input", {"text": what})]


def _named(example: Example, labels: Sequence[str]) -> Example:
    """Return the example with its class name as label, because class numbers differ between models."""
    at = example.label
    is_class = isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(labels)
    return replace(example, label=labels[at]) if is_class and isinstance(at, int) else example


def show_changed(
    what: str,
    names: list[str],
    severities: tuple[int, ...],
    seed: int,
    limit: int | None,
    out: Path | None,
    columns: Columns,
    model: Model | None,
    *,
    as_json: bool,
) -> None:
    from regard.perturbations.apply import perturber
    from regard.perturbations.columns import fitted
    from regard.surveys.noise_table import specs_of

    examples = examples_of(what, limit, columns)
    variants: list[tuple[str, int, Example, Perturbed]] = []
    for spec in specs_of(examples[0], names):
        put_on = perturber(fitted(spec, examples), seed, model)
        variants += [(str(spec), s, e, put_on(e, s)) for s in severities for e in examples]
    if out is not None:
        _write(out, variants, seed)
    if as_json:
        return print_json({"seed": seed, "examples": [_json(*one) for one in variants]})
    if out is not None:
        return results().print(say("term.perturb.written", n=len(variants), seed=seed, out=out), markup=False)
    for i, (name, severity, example, perturbed) in enumerate(variants):
        if len(examples) > MOST_PRINTED and i % len(examples) >= MOST_PRINTED:
            continue
        results().print(_title(name, severity, seed, example.id), markup=False, style="dim")
        results().print(_marked(example, perturbed))
    active = {name for name, _, example, perturbed in variants if _key(perturbed.example) != _key(example)}
    idle = sorted({name for name, *_ in variants} - active)
    if idle:
        results().print(say("term.perturb.idle", noises=", ".join(idle)), markup=False, style="yellow")
    if len(examples) > MOST_PRINTED:
        results().print(say("term.perturb.shown", shown=MOST_PRINTED, all=len(examples)), style="dim", markup=False)


def _key(example: Example) -> str:
    """The inputs as text: equal for equal inputs."""
    from regard.datasets.cells import content_of

    return content_of(dict(example.inputs))


def _title(name: str, severity: int, seed: int, example: str) -> str:
    return say("term.perturb.one", name=name, severity=severity, seed=seed, id=example)


def _marked(example: Example, made: Perturbed) -> Any:
    """Return the changed text with changed words in bold brackets; for arrays, the size of the change."""
    import numpy as np
    from rich.text import Text

    if made.origin is None:
        name = next(iter(n for n, v in example.inputs.items() if not isinstance(v, str)))
        old, new = (np.asarray(e.inputs[name], np.float64) for e in (example, made.example))
        distance = np.sqrt(np.mean((new - old) ** 2)) / max(float(np.ptp(old)), 1e-12)
        share = f"{np.mean(new != old):.0%}"
        return Text(say("term.perturb.array", name=name, shape=old.shape, share=share, moved=f"{distance:.3f}"))
    from regard.perturbations.script import Script

    before, script = Script.of(example).words, Script.of(made.example)
    out, number = Text(), 0
    for pieces in script.pieces():
        for text, w in pieces:
            if w < 0:
                out.append(text)
                continue
            origin = int(made.origin[number])
            same = origin >= 0 and before[origin] == text
            out.append(text if same else f"[{text}]", style="" if same else "bold yellow")
            number += 1
        out.append("\n")
    missing = sorted(set(range(len(before))) - {int(o) for o in made.origin})
    out.append(
        say("term.perturb.gone", words=", ".join(before[w] for w in missing)) + "\n" if missing else "", style="dim"
    )
    return out


def _json(name: str, severity: int, example: Example, made: Perturbed) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value if isinstance(value, str | int | float | None) else value.tolist()

    return {
        "id": example.id,
        "noise": name,
        "severity": severity,
        "label": example.label,
        **{key: plain(value) for key, value in made.example.inputs.items()},
        "original": {key: plain(value) for key, value in example.inputs.items()},
        "origin": None if made.origin is None else made.origin.tolist(),
    }


def _write(out: Path, made: list[tuple[str, int, Example, Perturbed]], seed: int) -> None:
    import csv
    import io

    from regard.store.blobs import write_output
    from regard.store.shapes import line_of

    if out.suffix == ".wav" and len(made) == 1 and "rate" in made[0][2].inputs:
        from regard.datasets.formats.sounds import write_wav

        inputs = made[0][3].example.inputs
        return write_wav(out, inputs["audio"], int(inputs["rate"]))
    rows = [{**_json(*one), "seed": seed} for one in made]
    text = io.StringIO(newline="")
    if out.suffix == ".jsonl":
        text.write("".join(line_of(row).decode() for row in rows))
    elif out.suffix == ".csv" and all("text" in row for row in rows):
        texts = ["text", *(["text_pair"] if "text_pair" in rows[0] else [])]
        writer = csv.DictWriter(text, ["id", *texts, "label", "noise", "severity", "seed"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    else:
        raise InputError(
            f"--out {out}",
            expected=phrase("errors.cli.file_jsonl_or_file_csv"),
            got=out.suffix or phrase("errors.common.no_ending"),
        )
    write_output(out, text.getvalue().encode("utf-8"))  # half a file would be read as a whole one
