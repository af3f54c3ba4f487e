"""The report as a PDF: printed by a browser of this machine, else by WeasyPrint, else a clear word about what to do."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from regard.audits.conclusions.run_facts import RunReader
from regard.errors import EnvironmentProblem
from regard.present.report.report import write_report
from regard.store.blobs import write_output

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-pdf-header-footer",
    "--disable-extensions",
)
SECONDS = 180


def browser() -> str | None:
    """A browser that can print: REGARD_BROWSER, or the first of the usual names."""
    own_choice = os.environ.get("REGARD_BROWSER", "")
    candidates = [own_choice] if own_choice else [*BROWSERS]
    return next((path for name in candidates if (path := shutil.which(name))), None)


def write_pdf(run: RunReader, out: Path) -> Path:
    """Write the report as a PDF; nothing is loaded from anywhere, and no profile of the user is touched."""
    program = browser()
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(run, Path(folder) / "report.html")
        printed = Path(folder) / "report.pdf"
        if program is not None:
            _printed(program, page, printed)
        elif find_spec("weasyprint") is not None:
            importlib.import_module("weasyprint").HTML(filename=str(page)).write_pdf(str(printed))
        else:
            raise EnvironmentProblem(
                "report as pdf",
                expected="a browser (Chromium, Chrome or Edge) or the package weasyprint",
                got="neither",
                remedy="pip install 'regard[pdf]', set REGARD_BROWSER, or print report.html yourself",
            )
        write_output(out, printed.read_bytes())
    return out


def _printed(program: str, page: Path, out: Path) -> None:
    # a container's root has no user namespaces for the sandbox; the page is our own and its policy loads nothing
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    line = [program, *FLAGS, *root, profile, f"--print-to-pdf={out}", page.as_uri()]
    try:
        process = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentProblem(f"browser {program}", expected="to print the report", got=str(error)) from error
    if not out.is_file():
        message = (process.stderr.strip().splitlines() or ["nothing"])[-1]
        raise EnvironmentProblem(
            f"browser {program}",
            expected="to print the report",
            got=message,
            remedy="set REGARD_BROWSER to another browser, or print report.html yourself",
        )
