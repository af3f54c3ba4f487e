"""`capture(rows=...)` and `capture_generation(rows="new")` through the adapter, the pack and the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import adapter_zoo as zoo
import numpy as np
import pytest
from click.testing import CliRunner

from regard.cli.root import root
from regard.errors import InputError
from regard.live.show import captured_pack
from regard.models import capture as capture_module
from regard.models.capture import capture
from regard.models.capture_generation import capture_generation
from regard.models.dense_limit import dense_bytes
from regard.models.open.load import load
from regard.models.row_capture import parsed_rows
from regard.protocols import Model
from regard.tap import site_attention

TEXT = "the film was great and the film was bad"


@pytest.fixture(scope="module")
def writer() -> Model:
    return load(zoo.gpt2(), processor=zoo.plain_tokenizer(), device="cpu")


def test_rows_equal_those_of_the_whole_capture(writer: Model) -> None:
    whole, some = capture(writer, TEXT), capture(writer, TEXT, rows=slice(-2, None))
    assert some.answers.value.tolist() == pytest.approx(whole.answers.value.tolist(), abs=1e-6)
    assert len(some.sites) == len(whole.sites)
    for one, other in zip(some.sites, whole.sites, strict=True):
        assert one.site == other.site
        np.testing.assert_allclose(one.rows(0, [-2, -1]), other.rows(0, [-2, -1]), atol=1e-5)


def test_rows_of_new_tokens_equal_the_stitched_generation(writer: Model) -> None:
    whole = capture_generation(writer, TEXT, new_tokens=4)
    some = capture_generation(writer, TEXT, new_tokens=4, rows="new")
    assert some.text == whole.text
    prompt = len(some.units[0]) - len(some.made) + 1
    for one, other in zip(some.sites, whole.sites, strict=True):
        rows = list(range(prompt - 1, one.shape[2]))
        np.testing.assert_allclose(one.rows(0, rows), other.rows(0, rows), atol=1e-5)


def test_an_encoder_decoder_shows_the_rows_that_write() -> None:
    model = load(zoo.t5(), processor=zoo.t5_tokenizer(), device="cpu")
    whole, some = (capture_generation(model, TEXT, new_tokens=3, rows=rows) for rows in (None, "new"))  # type: ignore[arg-type]
    assert {site.site.kind for site in some.sites} == {"causal", "cross"}
    others = {site.site.key: site for site in whole.sites}
    for site in some.sites:
        rows = range(site.shape[2])
        np.testing.assert_allclose(site.rows(0, rows), others[site.site.key].rows(0, rows), atol=1e-5)


def test_a_pack_of_rows_names_these_rows(writer: Model) -> None:
    entry = captured_pack(capture(writer, TEXT, rows=[1, 4])).manifest.examples[0]
    site = entry.sites[0]
    assert (site.rows, site.columns) == (2, len(entry.units.names))
    assert entry.axes[site.queries].names == [entry.units.names[1], entry.units.names[4]]


def test_dense_captures_of_long_inputs_are_refused(writer: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    n = len(capture(writer, TEXT).units[0])
    assert dense_bytes(writer.module, n) == 2 * 2 * n * n * 4  # type: ignore[attr-defined]
    monkeypatch.setattr("regard.models.dense_limit.DENSE_BYTES", 500)
    monkeypatch.setattr(site_attention, "DENSE_BYTES", 500)
    with pytest.raises(InputError):
        capture(writer, TEXT, mode="weights")
    with pytest.raises(InputError):
        capture_generation(writer, TEXT, new_tokens=2)
    with pytest.raises(InputError):
        capture(writer, TEXT).sites[0].dense()
    assert capture(writer, TEXT, rows="last").sites
    assert capture_generation(writer, TEXT, new_tokens=2, rows="new").sites
    assert capture_module.capture(writer, TEXT).sites


def test_bad_rows_are_refused(writer: Model) -> None:
    with pytest.raises(InputError):
        capture(writer, TEXT, rows="new")
    with pytest.raises(InputError):
        capture(writer, ["the film", TEXT], rows="last")
    with pytest.raises(InputError):
        capture_generation(writer, TEXT, rows="last")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        parsed_rows("first")


def test_the_command_line_takes_rows(tmp_path: Path) -> None:
    module = zoo.gpt2()
    module.save_pretrained(tmp_path / "model")
    zoo.plain_tokenizer().save_pretrained(tmp_path / "model")
    arguments = [str(tmp_path / "model"), "--text", TEXT]
    ran = CliRunner().invoke(root, ["capture", *arguments, "--rows", "-2:", "--json"])
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.stdout)
    assert np.shape(result["drawn"]["weights"]) == (2, len(result["units"]))
    length = len(result["units"])
    assert result["drawn"]["positions"] == [length - 2, length - 1]
    ran = CliRunner().invoke(root, ["capture", *arguments, "--rows", "last"])
    assert f"1 × {length}" in ran.stdout
    assert re.search(rf"(?m)^{length - 1} {re.escape(result['units'][-1].strip())} ", ran.stdout)  # a strongest link
    page = tmp_path / "view.html"
    ran = CliRunner().invoke(root, ["view", *arguments, "--rows", "last", "--html", str(page)])
    assert ran.exit_code == 0, ran.output
    assert page.stat().st_size > 10_000
    assert CliRunner().invoke(root, ["capture", *arguments, "--rows", "new"]).exit_code == 2
