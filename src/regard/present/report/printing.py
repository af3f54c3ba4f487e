"""The report as a PDF: printed by a browser of this machine, else by WeasyPrint, else an error with the remedy."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from regard.audits.conclusions.run_facts import RunReader
from regard.errors import EnvironmentProblem, phrase
from regard.present.report.report import PRINTED, Paper, report
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
MOST_PAGES = 6
"""Maximum pages of a PDF without an appendix."""
LETTER = frozenset({"US", "CA", "MX", "CL", "CO", "VE", "PH", "GT", "CR", "PA", "DO", "SV", "PR"})
"""Countries whose paper is Letter (CLDR)."""


def browser() -> str | None:
    """A browser that can print: REGARD_BROWSER, or the first of the usual names."""
    own_choice = os.environ.get("REGARD_BROWSER", "")
    candidates = [own_choice] if own_choice else [*BROWSERS]
    return next((path for name in candidates if (path := shutil.which(name))), None)


def paper_size() -> str:
    """The sheet of the user's locale: Letter in the countries that use it, else A4."""
    variables = (os.environ.get(name, "") for name in ("LC_ALL", "LC_PAPER", "LANG"))
    locale = next(filter(None, variables), "")
    country = re.search(r"_([A-Z]{2})\b", locale)
    return "Letter" if country is not None and country[1] in LETTER else "A4"


def write_pdf(run: RunReader, out: Path, *, appendix: bool = False) -> Path:
    """Write the report as a PDF; see `pdf_document`."""
    write_output(out, pdf_document(run, appendix=appendix))
    return out


def pdf_document(run: RunReader, *, appendix: bool = False) -> bytes:
    """Render the report as a PDF of at most `MOST_PAGES` pages, or with everything if an appendix is requested.

    Loads nothing from anywhere, and touches no profile of the user.
    """
    sections = [*PRINTED]
    while True:
        document = print_html(report(run, paper=Paper(paper_size(), tuple(sections), appendix)))
        if appendix or not sections or page_count(document) <= MOST_PAGES:
            return document
        sections.pop()


def page_count(document: bytes) -> int:
    """Count the pages of a PDF with uncompressed page objects, as browsers write them; 0 if none is found."""
    return len(re.findall(rb"/Type\s*/Page(?![A-Za-z])", document))


def print_html(text: str) -> bytes:
    """Print a page as a PDF, by a browser of this machine or by WeasyPrint."""
    program = browser()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(text, "utf-8")
        printed = Path(folder) / "page.pdf"
        if program is not None:
            _printed(program, page, printed)
        elif find_spec("weasyprint") is not None:
            importlib.import_module("weasyprint").HTML(filename=str(page)).write_pdf(str(printed))
        else:
            raise EnvironmentProblem(
                phrase("errors.present.report_pdf"),
                expected=phrase("errors.present.browser_chromium_chrome_or_edge"),
                got=phrase("errors.common.neither"),
                remedy=phrase("errors.present.pip_install_regard_pdf_set"),
            )
        return printed.read_bytes()


def _printed(program: str, page: Path, out: Path) -> None:
    # a container's root has no user namespaces for the sandbox; the page is our own and its policy loads nothing
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    line = [program, *FLAGS, *root, profile, f"--print-to-pdf={out}", page.as_uri()]
    try:
        process = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentProblem(
            phrase("errors.present.browser_program", program=program),
            expected=phrase("errors.present.print_report"),
            got=str(error),
        ) from error
    if not out.is_file():
        message = (process.stderr.strip().splitlines() or ["nothing"])[-1]
        raise EnvironmentProblem(
            phrase("errors.present.browser_program", program=program),
            expected=phrase("errors.present.print_report"),
            got=message,
            remedy=phrase("errors.present.set_regard_browser_another_browser"),
        )
