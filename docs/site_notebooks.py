"""Tutorials as notebooks: the text of a page as Markdown cells, its Python blocks as code cells, run on request."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

TUTORIALS = ("tutorial.md", "zh-tutorial.md", "clinical.md", "translation.md", "python.md")
SECONDS = 900
"""Longest time of a cell."""


def notebook_of(text: str) -> Any:
    """Return the notebook of a page: every ```python block is a code cell, everything between is a Markdown cell."""
    cells = []
    for at, part in enumerate(re.split(r"^```python\n(.*?)^```\n?", text, flags=re.S | re.M)):
        if part.strip():
            number = f"cell-{len(cells)}"
            cells.append(
                new_code_cell(part.rstrip(), id=number) if at % 2 else new_markdown_cell(part.strip(), id=number)
            )
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def execute(notebook: Any) -> None:
    """Run the cells in an empty directory and keep their outputs."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()


def write_notebooks(source: Path, target: Path, *, run: bool) -> list[Path]:
    """Write the notebook of every tutorial; run: with the outputs of this machine."""
    written = []
    for name in TUTORIALS:
        notebook = notebook_of((source / name).read_text("utf-8"))
        if run:
            execute(notebook)
        path = target / name.replace(".md", ".ipynb")
        nbformat.write(notebook, path)
        written.append(path)
    return written
