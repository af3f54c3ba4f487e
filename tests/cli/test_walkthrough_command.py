"""`regard walkthrough` and the preconditions, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

Regard = Callable[..., Result]


def told(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_the_default_model_is_additive(regard: Regard) -> None:
    text = told(regard("walkthrough", "a quiet, moving film"))
    assert "the learned vector v and, per key, the tanh features" in text
    assert "6 of 64 features" in text
    assert "58 others" in text
    assert "the dot is the sum of all features" in text
    assert "equals the captured weights" in text


def test_queries_and_keys_in_json(regard: Regard) -> None:
    words = ("walkthrough", "a quiet moving film", "--model", "mine.py:make", "--query", "moving", "--json")
    found = json.loads(regard(*words).stdout)
    steps = {name: np.array(value) for name, value in found["steps"].items() if value is not None}
    assert found["query"] == {"position": 2, "name": "moving"}
    assert found["form"] == "dot"
    np.testing.assert_allclose(steps["keys"] * steps["query"], steps["products"], atol=1e-12)
    np.testing.assert_allclose(steps["products"].sum(1), steps["dots"], atol=1e-12)
    np.testing.assert_allclose(steps["dots"] * found["factor"], steps["scaled"], atol=1e-12)
    assert found["factor"] == pytest.approx(8**-0.5)
    powers = np.exp(steps["scores"] - steps["scores"].max())
    np.testing.assert_allclose(powers / powers.sum(), found["captured"], atol=1e-5)
    np.testing.assert_allclose(steps["weights"] @ steps["values"], steps["output"], atol=1e-12)
    assert found["check"]["agrees"]


def test_it_fits_a_hundred_columns(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = regard("walkthrough", "a quiet moving film that goes on and on and on", "--model", "mine.py:make").stdout
    tables = [line for line in out.splitlines() if not line.startswith("self-check")]
    assert max(map(len, (line.rstrip() for line in tables))) <= 100
    assert "keys not shown" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--layer", "7"), "layer 7"),
        (("--head", "3"), "head 3"),
        (("--query", "zebra"), "zebra"),
        (("--site", "nowhere"), "nowhere"),
    ],
)
def test_what_is_not_there_is_named(regard: Regard, words: tuple[str, ...], says: str) -> None:
    result = regard("walkthrough", "a quiet film", "--model", "mine.py:make", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_attention_without_queries_is_refused_with_the_reason(regard: Regard) -> None:
    result = regard("walkthrough", "a superb boat", "--model", "planted:constant")
    assert result.exit_code == 2
    assert "product of queries and keys" in result.stderr


def test_capture_says_the_defect_before_the_map(regard: Regard) -> None:
    text = told(regard("capture", "planted:one_key", "--text", "a superb boat"))
    sentence = "this attention has one key: its weight is always 1 and carries no information"
    assert sentence in text
    assert text.index(sentence) < text.index("attention site")
    told_json = json.loads(regard("capture", "planted:one_key", "--text", "a superb boat", "--json").stdout)
    assert told_json["preconditions"]["defects"][0]["what"] == "one_key"
    assert "before you look" not in told(regard("capture", "mine.py:make", "--text", "a quiet film"))


@pytest.mark.wording
def test_an_audit_stores_and_shows_it_first(regard: Regard, tmp_path: Path) -> None:
    words = ("audit", "planted:uniform", "--limit", "4", "--out", str(tmp_path / "run"), "-v", "--profile", "quick",
             "--explainers", "attention,leave_one_out,random", "--metrics", "comprehensiveness")  # fmt: skip
    text = told(regard(*words))
    assert text.index("this attention is uniform") < text.index("comprehensiveness")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert page.index("this attention is uniform") < page.index('id="in-words"') < page.index('id="attention-view"')
    found = json.loads(regard(*words, "--json").stdout)
    (defect,) = found["preconditions"]["defects"]
    assert (defect["what"], defect["n"]) == ("uniform", 4)
    assert found["manifest"]["preconditions"] == found["preconditions"]


def test_a_sound_audit_says_what_was_tested(audited: tuple[Path, Result]) -> None:
    out, _ = audited
    page = (out / "report.html").read_text("utf-8")
    assert "None of the four was found in 6 examples and 1 site" in page
