"""Results as DataFrames, and inputs of every form: the numbers are those of the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch_toy import TorchToy

from regard.audits.audit import audit
from regard.audits.explain import explain
from regard.errors import EnvironmentProblem, InputError
from regard.models.open.load import load
from regard.records import Example
from regard.store import frames
from regard.store.run import Run

TEXTS = ["a wonderful film", "a dull and dreadful film", "wonderful indeed", "dreadful"]
FEW: dict[str, Any] = {"explainers": ["attention", "random"], "metrics": ["comprehensiveness"], "budget": "none"}


def test_explained_is_a_frame_of_units() -> None:
    pytest.importorskip("pandas")
    explained = explain(TorchToy(), TEXTS[:2], ["attention", "random"])
    frame = explained.to_pandas()
    assert len(frame) == sum(len(units.names) for units in explained.units) * 2
    first = frame[(frame["method"] == "attention") & (frame["example"] == explained.examples[0].id)]
    assert first["relevance"].tolist() == pytest.approx(explained.relevance["attention"][0].tolist())
    assert first["name"].tolist() == list(explained.units[0].names)


@pytest.mark.parametrize("form", ["pairs", "dicts", "generator", "pandas"])
def test_audit_takes_every_form_of_data(form: str, tmp_path: Path) -> None:
    rows = [(text, "positive" if "wonderful" in text else "negative") for text in TEXTS]
    dicts = [{"text": text, "label": label} for text, label in rows]
    data: Any = {"pairs": rows, "dicts": dicts, "generator": (row for row in rows)}.get(form)
    if form == "pandas":
        data = pytest.importorskip("pandas").DataFrame(dicts)
    run = audit(TorchToy(), data, out=tmp_path / "run", **FEW)
    assert [e["inputs"]["text"] for e in run.examples()] == TEXTS


def test_generator_is_stored_with_the_run_and_resumes(tmp_path: Path) -> None:
    first = audit(TorchToy(), iter(TEXTS), out=tmp_path / "run", **FEW)
    again = audit(TorchToy(), iter(()), out=tmp_path / "run", **FEW)  # the stream is gone
    assert [s.estimate for s in again.summaries()] == [s.estimate for s in first.summaries()]
    assert [e["inputs"]["text"] for e in again.examples()] == TEXTS


def test_data_of_a_generator_are_on_disk_before_the_model_is_asked(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(*opened: Any) -> None:
        raise Killed

    separators = ["one \u2028 line", "two \x85 lines", "wonderful"]
    with pytest.raises(Killed):
        audit(TorchToy(), iter(separators), out=tmp_path / "run", **FEW, resolved=kill)
    run = audit(TorchToy(), iter(()), out=tmp_path / "run", **FEW)
    assert [e["inputs"]["text"] for e in run.examples()] == separators


def test_words_of_a_generator_stay_out_of_a_run_without_text(tmp_path: Path) -> None:
    audit(TorchToy(), iter(TEXTS), out=tmp_path / "run", text=False, **FEW)
    assert not [*(tmp_path / "run").glob("generator*")]


def test_damaged_data_of_a_generator_are_named(tmp_path: Path) -> None:
    (tmp_path / "generator_data.jsonl").write_text('{"name": 3}\n', "utf-8")
    with pytest.raises(InputError, match=r"generator_data\.jsonl"):
        audit(TorchToy(), iter(TEXTS), out=tmp_path, **FEW)


def test_run_is_a_frame_of_summaries(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = audit(TorchToy(), [Example(f"e{i}", {"text": text}) for i, text in enumerate(TEXTS)], out=tmp_path, **FEW)
    frame, summaries = Run(tmp_path).to_pandas(), run.summaries()
    assert len(frame) == len(summaries)
    assert frame["estimate"].tolist() == pytest.approx([s.estimate for s in summaries], nan_ok=True)
    assert {"metric", "method", "low", "high", "n"} <= set(frame.columns)


def test_polars_holds_the_rows_of_pandas() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    explained = explain(TorchToy(), ["a wonderful film", "a dull one"], ["attention"])
    assert explained.to_polars().to_dicts() == explained.to_pandas().to_dict("records")


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", missing)
    with pytest.raises(EnvironmentProblem, match="pip install polars"):
        frames.to_polars([{"a": 1}])


def test_notebook_shows_the_coloured_text_and_nothing_of_the_data_is_markup() -> None:
    explained = explain(TorchToy(), ["a wonderful <b>film</b>"] * 12, ["attention"])
    html = explained._repr_html_()
    assert html.count('class="example"') == 10
    assert "<b>film" not in html
    assert 'class="u a' in html


def test_notebook_shows_a_run_with_and_without_verdicts(tmp_path: Path) -> None:
    run = audit(TorchToy(), TEXTS, out=tmp_path / "plain", **FEW)
    assert "regard-cell" in run._repr_html_()
    judged = audit(TorchToy(), TEXTS, out=tmp_path / "judged", budget="2000-passes")
    html = judged._repr_html_()
    assert "regard audit" in html or "regard explain" in html


def test_a_model_an_explanation_and_a_run_are_shown_in_a_few_lines(tmp_path: Path) -> None:
    planted = load("planted:one_key")
    assert planted.name in repr(planted)
    assert all(label in repr(planted) for label in planted.labels)
    model = TorchToy()
    text = repr(explain(model, ["a wonderful film"] * 9, ["attention"]))
    assert "wonderful" in text
    assert len(text.splitlines()) < 20
    run = audit(model, TEXTS, out=tmp_path / "run", **FEW)
    assert len(repr(run)) < 300
    assert len(run.findings().to_pandas()) == sum(len(score.ids) for score in run.findings())
