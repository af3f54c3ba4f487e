"""The attention family on every kind of model that capture supports: encoders, decoders, both, images, series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import edited
from regard.desk.site_questions import weight_gradients
from regard.errors import Unsupported
from regard.explainers._chain import chain_of
from regard.models.open.load import load
from regard.records import Edit, Example
from regard.registry import find

METHODS = (
    "attention", "rollout", "flow", "attention_x_gradient", "generic_relevance", "value_norms", "value_norms_residual",
    "globenc", "alti", "value_zeroing", "knock_out",
)  # fmt: skip
TEXTS = ("the film was great fun", "a very long story but not bad in spain")


def texts(**more: str) -> list[Example]:
    return [Example(str(i), {"text": t, **more}) for i, t in enumerate(TEXTS)]


def images() -> list[Example]:
    return [Example(str(i), {"image": np.random.default_rng(i).random((8, 8))}) for i in range(2)]


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], list[Example]]]] = {
    "bert": (lambda: load(zoo.bert("ForSequenceClassification"), processor=zoo.bert_tokenizer()), texts),
    "gpt2": (lambda: load(zoo.gpt2(), processor=zoo.plain_tokenizer()), texts),
    "llama": (lambda: load(zoo.llama(), processor=zoo.plain_tokenizer()), texts),
    "t5": (lambda: load(zoo.t5(), processor=zoo.t5_tokenizer()), texts),
    "vit": (lambda: load(zoo.vit()), images),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request: Any) -> DeskCase:
    model, examples = MODELS[request.param]
    return DeskCase(Desk(model()), examples())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_on_every_kind_of_model(name: str, case: DeskCase) -> None:
    got = case.relevance(name)
    for row, units in zip(got, case.units, strict=True):
        assert np.isfinite(row).all()
        assert row[units.free].any(), "something is relevant"
        assert not row[units.special].any()
        if not got.signed:
            assert row.sum() == pytest.approx(1)
    for error in ("decomposition_error", "layer_error"):
        assert (got.extras.get(error, np.zeros(1)) < 1e-4).all()


def test_knock_out_is_each_edit_alone(case: DeskCase) -> None:
    got, base = case.relevance("knock_out"), case.base()
    units = case.units[0]
    unit = int(np.flatnonzero(units.free)[1])
    key = int(units.keys[unit])
    sites = [s for s in case.attention(0) if s.shape[3] == case.attention(0)[0].shape[3] or s.site.kind == "cross"]
    if any(s.site.kind == "cross" for s in sites):
        sites = [s for s in sites if s.site.kind in ("self", "cross")]
    edits = [
        Edit(
            "knock_out", s.site.key, keys=(key,),
            queries=tuple(q for q in range(s.shape[2]) if s.site.kind == "cross" or q != key),
        )
        for s in sites
    ]  # fmt: skip
    answers = edited(case.subset([0]), [[edits]])
    assert got[0][unit] == pytest.approx(base.value[0] - answers.value[0], abs=1e-5)


def test_encoder_and_decoder_are_told_apart() -> None:
    model, examples = MODELS["t5"]
    case = DeskCase(Desk(model()), examples())
    chain = chain_of(case, 0, "a test")
    assert [s.site.name.split(".")[0] for s in chain.layers] == ["encoder", "encoder"]
    assert chain.top is not None
    assert chain.top.site.kind == "cross"
    used = case.relevance("generic_relevance").extras["sites"]
    assert used.tolist() == [6.0, 6.0], "encoder, decoder and cross-attention all carry relevance"


def test_two_layers_of_bert_follow_the_paper_line_by_line() -> None:
    model, examples = MODELS["bert"]
    case = DeskCase(Desk(model()), examples())
    got = find("explainer", "generic_relevance")(case)
    for i, units in enumerate(case.units):
        r = np.eye(len(units))
        for s in weight_gradients(case, i):
            r = r + np.maximum(s.weights * s.gradient, 0).mean(0) @ r
        row = np.where(units.free, r[0], 0)
        np.testing.assert_allclose(got[i], row / row.sum(), atol=1e-5)


def test_channels_side_by_side_are_refused_with_the_reason() -> None:
    rng = np.random.default_rng(0)
    series = [Example("s", {"series": rng.standard_normal((24, 2))})]
    case = DeskCase(Desk(load(zoo.patchtst())), series)
    with pytest.raises(Unsupported, match="a window"):
        case.relevance("value_norms")
