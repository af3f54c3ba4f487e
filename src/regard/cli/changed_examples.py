"""Changed examples for people: on the screen with the changed words marked, or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.console import print_json, results
from regard.cli.model_options import Columns
from regard.errors import InputError
from regard.files import exists
from regard.present.messages.messages import say

if TYPE_CHECKING:
    from regard.protocols import Model
    from regard.records import Example, Perturbed

SHOWN = 5
"""Changed examples on a screen; `--out` and `--json` have all of them."""


def examples_of(what: str, limit: int | None, columns: Columns = Columns()) -> list[Example]:  # noqa: B008 - frozen
    """A data set by name or file, or else a text."""
    from regard.records import Example
    from regard.registry import names

    if not what.strip():  # as a path it would be this directory
        raise InputError("text", expected="at least one word", got="an empty text")
    if what.partition(":")[0] in names("dataset") or exists(what):
        from regard.datasets.read import read

        data = read(
            what, text_column=columns.text, pair_column=columns.pair, label_column=columns.label,
            skip_bad=columns.skip_bad, limit=limit,
        )  # fmt: skip
        return [_named(e, data.labels) for e in data]
    if Path(what).suffix in (".csv", ".tsv", ".jsonl", ".json", ".parquet"):
        raise InputError(f"data {what}", expected="a file", got="no such file")
    if columns != Columns():
        raise InputError("--text-column, --label-column, --skip-bad", expected="data", got=f"the text {what!r}")
    return [Example("input", {"text": what})]


def _named(example: Example, labels: Sequence[str]) -> Example:
    """The example with the name of its class: a file of numbers would be read as other classes by another model."""
    at = example.label
    known = isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(labels)
    return replace(example, label=labels[at]) if known and isinstance(at, int) else example


def show_changed(
    what: str, names: list[str], severities: tuple[int, ...], seed: int, limit: int | None, out: Path | None,
    columns: Columns, model: Model | None, *, as_json: bool,
) -> None:  # fmt: skip
    from regard.perturbations.apply import perturber
    from regard.perturbations.columns import fitted
    from regard.surveys.noise_table import specs_of

    examples = examples_of(what, limit, columns)
    made: list[tuple[str, int, Example, Perturbed]] = []
    for spec in specs_of(examples[0], names):
        put_on = perturber(fitted(spec, examples), seed, model)
        made += [(str(spec), s, e, put_on(e, s)) for s in severities for e in examples]
    if out is not None:
        _write(out, made, seed)
    if as_json:
        return print_json({"seed": seed, "examples": [_json(*one) for one in made]})
    if out is not None:
        return results().print(say("term.perturb.written", n=len(made), seed=seed, out=out), markup=False)
    for i, (name, severity, example, changed) in enumerate(made):
        if len(examples) > SHOWN and i % len(examples) >= SHOWN:
            continue
        results().print(_title(name, severity, seed, example.id), markup=False, style="dim")
        results().print(_marked(example, changed))
    if len(examples) > SHOWN:
        results().print(say("term.perturb.shown", shown=SHOWN, all=len(examples)), style="dim", markup=False)


def _title(name: str, severity: int, seed: int, example: str) -> str:
    return say("term.perturb.one", name=name, severity=severity, seed=seed, id=example)


def _marked(example: Example, made: Perturbed) -> Any:
    """The changed text, changed words in brackets (and in bold); of arrays, how much was changed."""
    import numpy as np
    from rich.text import Text

    if made.origin is None:
        name = next(iter(n for n, v in example.inputs.items() if not isinstance(v, str)))
        old, new = (np.asarray(e.inputs[name], np.float64) for e in (example, made.example))
        moved = np.sqrt(np.mean((new - old) ** 2)) / max(float(np.ptp(old)), 1e-12)
        share = f"{np.mean(new != old):.0%}"
        return Text(say("term.perturb.array", name=name, shape=old.shape, share=share, moved=f"{moved:.3f}"))
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
    gone = sorted(set(range(len(before))) - {int(o) for o in made.origin})
    out.append(say("term.perturb.gone", words=", ".join(before[w] for w in gone)) + "\n" if gone else "", style="dim")
    return out


def _json(name: str, severity: int, example: Example, made: Perturbed) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value if isinstance(value, str | int | float | None) else value.tolist()

    return {
        "id": example.id, "noise": name, "severity": severity, "label": example.label,
        **{key: plain(value) for key, value in made.example.inputs.items()},
        "original": {key: plain(value) for key, value in example.inputs.items()},
        "origin": None if made.origin is None else made.origin.tolist(),
    }  # fmt: skip


def _write(out: Path, made: list[tuple[str, int, Example, Perturbed]], seed: int) -> None:
    import csv
    import io

    from regard.store.blobs import write_output
    from regard.store.shapes import line_of

    if out.suffix == ".wav" and len(made) == 1 and "rate" in made[0][2].inputs:
        from regard.datasets.formats.sounds import write_wav

        changed = made[0][3].example.inputs
        return write_wav(out, changed["audio"], int(changed["rate"]))
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
        raise InputError(f"--out {out}", expected="FILE.jsonl, or FILE.csv for texts", got=out.suffix or "no ending")
    write_output(out, text.getvalue().encode("utf-8"))  # half a file would be read as a whole one
