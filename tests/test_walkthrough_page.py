"""docs/walkthrough.md: what each block prints is what stands below it, and prose names no number of its own."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "walkthrough.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.S | re.M)


@pytest.fixture(scope="module")
def told() -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """(printed, shown) of every block that is followed by its output, and the names that the page leaves behind."""
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    pairs = []
    for i, (kind, text) in enumerate(blocks):
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, str(PAGE), "exec"), names)
            follows = blocks[i + 1][1] if i + 1 < len(blocks) and blocks[i + 1][0] == "text" else ""
            pairs.append((printed.getvalue(), follows))
    return pairs, names


def test_every_number_shown_is_the_number_computed(told: tuple[list[tuple[str, str]], dict[str, Any]]) -> None:
    pairs, _ = told
    assert sum(bool(shown) for _, shown in pairs) >= 10
    for printed, shown in pairs:
        assert printed == shown


def test_prose_names_only_computed_numbers(told: tuple[list[tuple[str, str]], dict[str, Any]]) -> None:
    pairs, _ = told
    printed = "".join(p for p, _ in pairs)
    prose = BLOCK.sub("", PAGE.read_text("utf-8"))
    for number in re.findall(r"\d+\.\d{2,}", prose):
        assert number in printed, f"{number} stands in the text and is computed nowhere"


def test_the_page_agrees_with_the_measure(told: tuple[list[tuple[str, str]], dict[str, Any]]) -> None:
    """Independent of the page's own code: `measures.walkthrough`, row by row."""
    from regard.measures.walkthrough import walk

    _, page = told
    for row in range(len(page["tokens"])):
        steps = walk(page["Q"][row], page["K"], factor=0.5, values=page["V"])
        np.testing.assert_allclose(steps.dots, page["S"][row], atol=1e-12)
        np.testing.assert_allclose(steps.weights, page["A"][row], atol=1e-12)
        np.testing.assert_allclose(steps.output, page["O"][row], atol=1e-12)


def test_what_the_page_says_in_words_is_so(told: tuple[list[tuple[str, str]], dict[str, Any]]) -> None:
    _, page = told
    tokens, weights, scores = page["tokens"], page["A"], page["S"]
    for word in ("fox", "dog"):
        row = dict(zip(tokens, weights[tokens.index(word)], strict=False))
        assert sorted(row, key=lambda t: -row[t])[:3] == ["quick", "lazy", "brown"]
    np.testing.assert_array_equal(scores[0], scores[6])
    np.testing.assert_array_equal(scores[:, 0], scores[:, 6])
