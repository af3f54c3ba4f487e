"""Views as SVG, PNG and PDF without a browser, and `head_view`/`model_view` by BertViz's names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

import regard
from regard.errors import InputError, UnknownName
from regard.live import figures
from regard.live.bertviz import head_view, model_view
from regard.live.show import View, show
from regard.models.open.from_arrays import from_arrays
from regard.present.pack.pack import pack_of_capture
from regard.present.pack.records import Pack
from regard.protocols import Model
from regard.records import Example

pytest.importorskip("quickjs", reason="NOT RUN: no quickjs-ng")
WORDS = ["the", "film", "was", "not", "bad", "</text><script>alert(1)</script>"]


def weights(*shape: int) -> Any:
    return np.random.default_rng(1).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of_capture(from_arrays(list(weights(3, 1, 4, 6, 6)), WORDS), model="toy")


@pytest.mark.parametrize("nothing", [(), (None, None)], ids=["empty", "none"])
def test_attention_that_transformers_left_out_is_refused_with_the_fix(nothing: Any) -> None:
    from regard.live.bertviz import head_view, model_view

    for view in (head_view, model_view):
        with pytest.raises(InputError, match=r"regard\.capture.*eager"):
            view(nothing, ["a", "film"])
    with pytest.raises(InputError, match="cross_attention"):
        head_view(cross_attention=nothing, encoder_tokens=["a"], decoder_tokens=["b"])


def test_every_view_is_drawn_as_text_and_paths(pack: Pack) -> None:
    there = figures.views(pack)
    assert {"head_view", "model_view", "heat_map"} <= set(there)
    for name in there:
        drawn = figures.svg(pack, name)
        tree = ElementTree.fromstring(drawn)  # well-formed, whatever the tokens are
        kinds = {e.tag.rpartition("}")[2] for e in tree.iter()}
        assert kinds <= {"svg", "title", "defs", "rect", "path", "text", "g", "clipPath", "image", "tspan"}, kinds
        assert "text" in kinds, name
        assert not re.search(r"<script|javascript:|https?://(?!www\.w3\.org/)", drawn)
    texts = [e.text for e in ElementTree.fromstring(figures.svg(pack, "heat_map")).iter() if e.tag.endswith("}text")]
    assert "film" in texts


def test_the_numbers_in_a_picture_are_those_of_the_capture(pack: Pack) -> None:
    """Of one head, row by row: the table form of the heat map against the weights that were given."""
    found = figures.table(pack, "heat_map", state={"site": 1, "head": 2, "pool": "one"})
    assert found is not None
    given = weights(3, 1, 4, 6, 6)[1, 0, 2]
    shown = np.zeros((6, 6))
    for _, query, _, key, weight in found["rows"]:
        shown[query, key] = weight
    assert np.allclose(shown, given, atol=pack.manifest.examples[0].sites[1].error + 1e-3)


def test_options_reach_the_picture(pack: Pack) -> None:
    plain = figures.svg(pack, "heat_map")
    assert figures.svg(pack, "heat_map") == plain, "the same twice"
    assert figures.svg(pack, "heat_map", dark=True) != plain
    assert 'width="500"' in figures.svg(pack, "heat_map", width=500)
    assert figures.svg(pack, "heat_map", state={"site": 0}) != plain
    with pytest.raises(UnknownName, match="heat_map"):
        figures.svg(pack, "heatmap")


def test_a_file_of_every_format(pack: Pack, tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="NOT RUN: no typst")
    for ending, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF-1."), ("html", b"<!doctype html>")):
        path = figures.write_figure(pack, tmp_path / "new" / f"figure.{ending}", "head_view")
        assert path.read_bytes().startswith(start)
    width, height = np.frombuffer((tmp_path / "new" / "figure.png").read_bytes()[16:24], ">u4")
    assert width == 1800  # two pixels for each of 900
    assert height > 300
    with pytest.raises(UnknownName, match="svg"):
        figures.write_figure(pack, tmp_path / "figure.gif")
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="a place to write"):
        figures.write_figure(pack, tmp_path / "file" / "figure.svg")


def test_letters_of_all_kinds_are_drawn(tmp_path: Path) -> None:
    names = ["机器", "学习", "naïve", "ß", "😀", "a&b<c>"]
    pack = pack_of_capture(from_arrays([weights(2, 6, 6)], names))
    drawn = figures.svg(pack, "heat_map")
    assert "机器" in drawn
    assert "a&amp;b&lt;c&gt;" in drawn


# ---------------------------------------------------------------------------------------------- show


def test_captures_of_all_kinds_show_themselves(model: Model, tmp_path: Path) -> None:
    capture: Any = regard.capture(model, ["not a good film", "dull"])
    view = capture.show("heat_map")
    manifest = view.session.pack().manifest
    assert manifest.model == model.name
    assert [e.predicted for e in manifest.examples] == [model.labels[t] for t in capture.targets]
    assert view.save(tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert view.save(tmp_path / "a.svg", state={"example": 1}).exists()
    assert "heat_map" in view.html
    assert "View(" in repr(view)
    given: Any = from_arrays([weights(2, 3, 3)], ["a", "b", "c"])
    assert given.show().session.pack().manifest.examples[0].units.names == ["a", "b", "c"]


def test_a_model_with_a_text_is_shown_with_its_methods(model: Model) -> None:
    view = show(model, "not a good film", methods=("leave_one_out",))
    (example,) = view.session.pack().manifest.examples
    assert [m.name for m in example.methods] == ["leave_one_out"]
    assert show(model, Example("x", {"text": "dull"})).session.pack().manifest.examples[0].id == "x"
    with pytest.raises(InputError, match="a text"):
        show("bilstm")


def test_where_no_kernel_answers_the_page_stands_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="NOT RUN: no anywidget")
    for name in ("JPY_SESSION_NAME", "VSCODE_PID", "VSCODE_CWD"):
        monkeypatch.delenv(name, raising=False)
    given: Any = from_arrays([weights(2, 3, 3)], ["a", "b", "c"])
    alone = given.show()._repr_mimebundle_()
    assert set(alone) == {"text/plain", "text/html"}
    assert 'sandbox="allow-scripts"' in alone["text/html"]
    assert "allow-same-origin" not in alone["text/html"]
    monkeypatch.setenv("JPY_SESSION_NAME", "book.ipynb")
    both, _ = given.show()._repr_mimebundle_()
    assert set(both) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert set(given.show(static=True)._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_messages_of_a_notebook_are_answered_like_requests(model: Model) -> None:
    from regard.live.widget import answered

    session = show(model, "not a good film").session
    said, buffers = answered(session, {"id": 4, "op": "hello", "body": {}})
    assert said["id"] == 4
    assert said["answer"]["can"]["edit"]
    assert not buffers
    pack = session.first
    said, (bytes_,) = answered(session, {"id": 5, "op": "chunk", "body": {"pack": pack, "name": "0/relevance"}})
    assert bytes_[:2] == b"\x1f\x8b"
    for wrong in ({"id": 6, "op": "nothing", "body": {}}, {"id": 6}, "hello", {"id": 6, "op": "chunk", "body": {}}):
        said, _ = answered(session, wrong)
        assert said["error"]["said"]
    session.close()


# ---------------------------------------------------------------------------------------------- BertViz


def returned(view: View | None) -> View:
    assert view is not None
    return view


def test_tuples_of_tensors_as_transformers_gives_them() -> None:
    attention = tuple(torch.tensor(weights(1, 4, 5, 5)) for _ in range(3))
    tokens = ["[CLS]", "\u0120a", "\u2581film", "b</w>", "[SEP]"]
    view = returned(head_view(attention, tokens, sentence_b_start=3, layer=2, heads=[1, 3], html_action="return"))
    (example,) = view.session.pack().manifest.examples
    assert example.units.names == ["[CLS]", "a", "film", "b", "[SEP]"]
    assert example.units.part == [0, 0, 0, 1, 1]
    assert [s.layer for s in example.sites] == [0, 1, 2]
    assert view.state == {"site": 2, "off": [0, 2]}
    assert view.data.startswith("<!doctype html>"), "as BertViz's return value is used: html.data"
    raw = returned(head_view(attention, tokens, prettify_tokens=False, html_action="return"))
    assert raw.session.pack().manifest.examples[0].units.names == tokens


def test_layers_and_heads_are_left_out_on_request() -> None:
    attention = [weights(4, 5, 5) for _ in range(3)]
    view = returned(
        model_view(attention, list("abcde"), include_layers=[0, 2], include_heads=[3], html_action="return")
    )
    sites = view.session.pack().manifest.examples[0].sites
    assert [(s.layer, s.heads) for s in sites] == [(0, 1), (2, 1)]
    assert view.view == "model_view"
    assert view.theme == "dark"
    assert sites[1].tops[0] == pytest.approx(float(attention[2][3].max()))


def test_encoder_decoder_and_cross_attention() -> None:
    view = returned(head_view(
        encoder_attention=[weights(1, 2, 4, 4)] * 2, decoder_attention=[np.tril(weights(1, 2, 3, 3))] * 2,
        cross_attention=[weights(1, 2, 3, 4)] * 2, encoder_tokens=list("abcd"), decoder_tokens=list("xyz"),
        html_action="return",
    ))  # fmt: skip
    (example,) = view.session.pack().manifest.examples
    shapes = [(s.key, s.rows, s.columns) for s in example.sites]
    assert shapes == [("encoder.0", 4, 4), ("encoder.1", 4, 4), ("decoder.0", 3, 3), ("decoder.1", 3, 3),
                      ("cross.0", 3, 4), ("cross.1", 3, 4)]  # fmt: skip
    cross = example.sites[-1]
    assert example.axes[cross.queries].names == ["x", "y", "z"]
    assert example.axes[cross.keys].names == ["a", "b", "c", "d"]


def test_our_own_captures_need_no_tokens(model: Model) -> None:
    capture = regard.capture(model, "not a good film")
    view = returned(head_view(capture, layer=1, html_action="return"))
    assert view.session.pack().manifest.examples[0].units.names[1:] == ["not", "a", "good", "film"]
    fewer = returned(model_view(capture, include_layers=[1], include_heads=[0], html_action="return"))
    assert [(s.key, s.heads) for s in fewer.session.pack().manifest.examples[0].sites] == [("layers.1", 1)]
    assert isinstance(head_view(capture), View), "outside of a notebook it is given back"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "attention, or encoder"),
        ({"attention": [weights(2, 3, 3)]}, "the names of the tokens"),
        ({"attention": [weights(2, 3, 3)], "tokens": ["a"]}, "3 names"),
        ({"attention": [weights(2, 3, 3)], "tokens": list("abc"), "layer": 4}, "layer '4'"),
        ({"attention": [weights(2, 3, 3)], "tokens": list("abc"), "heads": [9]}, "head '9'"),
        ({"attention": [weights(2, 3, 3)], "tokens": list("abc"), "include_layers": [7]}, "layer '7'"),
        ({"attention": [weights(2, 2, 3, 3)], "tokens": list("abc")}, "one example|2 examples"),
        ({"attention": [weights(2, 3, 3)], "tokens": list("abc"), "sentence_b_start": 9}, "a place from 1 to 3"),
        ({"attention": [weights(2, 3, 3)], "tokens": list("abc"), "html_action": "show"}, "html_action"),
        ({"attention": [weights(2, 3, 3)], "cross_attention": [weights(2, 3, 3)]}, "both"),
        ({"cross_attention": [weights(2, 3, 3)], "encoder_tokens": list("abc")}, "decoder_tokens"),
    ],
)
def test_a_wrong_call_is_answered_in_words(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        head_view(**given)
