"""An atlas of the copier, whose attention is known: every row looks at all positions before it alike."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from regard.cli.root import root
from regard.errors import InputError
from regard.present.report.atlas_page import coded_values
from regard.present.terminal.atlas_view import atlas_view
from regard.surveys.atlas import atlas
from regard.surveys.attention_atlas import Atlas
from regard.testing.copier import copier

FACTS = ["Anna lives in Rome.", "Bert lives in Oslo now.", "Clara lives in Lima."]
MESSAGES = [{"role": "user", "content": "\n".join(FACTS) + "\nWhere does Anna live?"}]
ANSWER = "Rome. Anna lives in Rome."


@pytest.fixture(scope="module")
def chart() -> Atlas:
    module, tokenizer = copier(["Rome", "Oslo", "Lima"], [*FACTS, "Where does Anna live ?"])
    return atlas(module, MESSAGES, ANSWER, sources="lines", tokenizer=tokenizer, device="cpu")


@pytest.mark.parametrize("every", [0, 3, -2])
def test_rows_are_sampled_by_powers_of_two_only(every: int) -> None:
    module, tokenizer = copier(["Rome", "Oslo", "Lima"], [*FACTS, "Where does Anna live ?"])
    with pytest.raises(InputError, match="power of two"):
        atlas(module, MESSAGES, ANSWER, sources="lines", tokenizer=tokenizer, every=every, device="cpu")


def test_the_matrix_is_the_share_of_columns_that_a_passage_has(chart: Atlas) -> None:
    sizes = [sum(stop - start for start, stop in passage.runs) for passage in chart.passages]
    assert [passage.text for passage in chart.passages] == FACTS
    assert sizes == [5, 6, 5]
    for sentence, row in zip(chart.sentences, chart.matrix, strict=True):
        seen = [np.mean([size / (at + 1) for at in range(sentence.start, sentence.stop)]) for size in sizes]
        np.testing.assert_allclose(row[:-1], seen, atol=1e-6)
    np.testing.assert_allclose(chart.matrix.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(chart.strongest, chart.matrix[:, :-1], atol=1e-9)  # one head
    assert [sentence.text for sentence in chart.sentences] == ["Rome.", "Anna lives in Rome."]
    assert chart.sentences[0].start == chart.answer_start - 1


def test_levels_and_tiles_agree_with_each_other(chart: Atlas) -> None:
    (layer,) = chart.layers
    n = len(chart.tokens)
    assert layer.blocks.block == 1  # short enough to be exact
    assert layer.error == 0
    expected = np.tri(n) / np.arange(1, n + 1)[:, None]
    np.testing.assert_allclose(layer.level("sum", 0)[0], expected, atol=1e-6)
    np.testing.assert_allclose(chart.tile(0, 0, slice(None), slice(None)), expected, atol=1e-6)
    top = layer.level("sum", 8)
    assert top.shape == (1, 1, 1)
    assert top[0, 0, 0] == pytest.approx(n, rel=1e-5)  # every row has mass 1
    assert layer.level("max", 8)[0, 0, 0] == pytest.approx(1.0)
    with pytest.raises(InputError):
        layer.level("mean", 0)
    with pytest.raises(InputError):
        chart.tile(5, 0, slice(None), slice(None))


def test_other_layers_blocks_and_sources_are_checked(chart: Atlas) -> None:
    module, tokenizer = copier(["Rome"], [*FACTS, "Where does Anna live ?"])
    common: dict[str, Any] = {"tokenizer": tokenizer, "device": "cpu"}
    with pytest.raises(InputError):
        atlas(module, MESSAGES, ANSWER, layers=[3], **common)
    with pytest.raises(InputError):
        atlas(module, MESSAGES, ANSWER, block=3, **common)
    with pytest.raises(InputError):
        atlas(module, MESSAGES, ANSWER, sources=["not there"], **common)
    plain = atlas(module, "Anna lives in", " Rome", **common)
    assert plain.matrix.shape == (1, len(plain.passages) + 1)
    sampled = atlas(module, MESSAGES, ANSWER, block=8, every=4, **common)
    assert sampled.layers[0].error > 0


def test_the_page_holds_the_pyramids_and_asks_for_nothing(chart: Atlas, tmp_path: Path) -> None:
    page = chart.save(tmp_path / "atlas.html").read_text("utf-8")
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
    assert len(page) < 1 << 20
    shares = [5 / len(chart.tokens), 6 / len(chart.tokens)]
    assert "uniform attention" in page
    assert all(f">{share:.1%}<" in page for share in shares)
    facts = json.loads(chart.save(tmp_path / "atlas.json").read_text("utf-8"))
    assert facts["matrix"] == np.round(chart.matrix, 6).tolist()
    with pytest.raises(InputError):
        chart.save(tmp_path / "atlas.png")


def test_values_survive_their_code() -> None:
    values = np.abs(np.random.default_rng(0).normal(size=(2, 5, 5))) ** 4
    coded, tops = coded_values(values)
    decoded = (coded / 65535.0) ** 2 * np.array(tops)[:, None, None]
    assert np.abs(np.sqrt(decoded) - np.sqrt(values)).max() <= np.sqrt(max(tops)) / 65535
    assert coded_values(np.zeros((1, 2, 2)))[0].tolist() == [[[0, 0], [0, 0]]]


def test_hostile_texts_stay_text_and_redaction_hides_words(tmp_path: Path) -> None:
    canary = "zebra</script><script>alert(1)</script>"
    messages = [{"role": "user", "content": f"Anna lives in {canary}\nBert lives in Oslo.\nWhere?"}]
    module, tokenizer = copier(["Oslo"], [*FACTS, "zebra script alert < > / ( ) 1"])
    chart = atlas(module, messages, "Oslo zebra.", sources="lines", tokenizer=tokenizer, device="cpu")
    page = chart.save(tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert" not in page
    hidden = chart.redacted()
    text = hidden.save(tmp_path / "hidden.html").read_text("utf-8") + json.dumps(hidden.to_json())
    assert "zebra" not in text
    assert hidden.matrix.tolist() == chart.matrix.tolist()


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maker.py").write_text(
        "from regard.testing.copier import copier\n\n\ndef make():\n    return copier(['Rome'], ['Anna lives in .'])\n"
    )
    (tmp_path / "chat.json").write_text(json.dumps(MESSAGES))
    words = ["atlas", "maker.py:make", "--messages", "chat.json", "--answer", "Rome", "--sources", "lines"]
    ran = CliRunner().invoke(root, [*words, "--html", "atlas.html", "--json"])
    assert ran.exit_code == 0, ran.output
    assert len(json.loads(ran.stdout)["matrix"][0]) == 4
    assert (tmp_path / "atlas.html").stat().st_size > 5000
    assert CliRunner().invoke(root, words).exit_code == 0
    assert CliRunner().invoke(root, [*words, "--prompt", "x"]).exit_code == 2


@pytest.mark.parametrize("passages", [3, 40])
def test_the_terminal_view_fits_and_names_the_largest_masses(passages: int) -> None:
    masses = [(1 + i) / 1000 for i in range(passages)]
    facts = {
        "tokens": ["x"] * (4 * passages),
        "passages": [{"text": f"note {i} " + "word " * 20, "runs": [[4 * i, 4 * i + 2]]} for i in range(passages)],
        "sentences": [{"text": "A rather long sentence of the answer, which goes on and on."}],
        "matrix": [[*masses, 1 - sum(masses)]],
    }
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(atlas_view(facts))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(f"{masses[-1]:.1%}" in line for line in lines) == 1
    assert any(f"[{passages}]" in line and f"{2 / (4 * passages):.1%}" in line for line in lines)
