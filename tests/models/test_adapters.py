"""One table of models, one body per law: every adapter obeys the same laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.models.adapter import TorchModel
from regard.models.ask.gradients import slopes as slopes_at
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.models.read_rows import read_rows
from regard.protocols import Point
from regard.records import Edit, Example

TEXTS = ["the film was great fun", "rain", "a very long story but not bad in spain", "who wrote the dull plot?"]


def texts(*, pair: bool = False, hole: bool = False) -> list[Example]:
    made = []
    for i, text in enumerate(TEXTS):
        inputs = {"text": f"{text} [MASK]" if hole else text}
        made.append(Example(str(i), {**inputs, "text_pair": TEXTS[(i + 1) % 4]} if pair else inputs))
    return made


def images() -> list[Example]:
    rng = np.random.default_rng(0)
    return [Example(str(i), {"image": rng.random((8, 8))}) for i in range(3)]


def series(steps: int = 24) -> list[Example]:
    rng = np.random.default_rng(0)
    return [Example(str(i), {"series": rng.standard_normal((steps, 2))}) for i in range(3)]


class Bag(torch.nn.Module):
    """A module of somebody's own, that knows nothing of us and takes no mask."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.words = torch.nn.Embedding(30, 8)
        self.score = torch.nn.Linear(8, 1)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        weight = torch.softmax(self.score(torch.tanh(x)).squeeze(-1), -1)
        return self.out((weight[..., None] * x).sum(1))  # type: ignore[no-any-return]


def by_length(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def columns() -> TorchModel:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    return wrap(net, modality="tabular", columns=["age", "bmi", "map", "ldl"], class_tokens=-1)


def rows() -> list[Example]:
    rng = np.random.default_rng(0)
    return [Example(str(i), {"row": rng.standard_normal(4)}) for i in range(3)]


Maker = Callable[[], Any]
BERT, PLAIN = zoo.bert_tokenizer, zoo.plain_tokenizer
MODELS: dict[str, tuple[Maker, Maker]] = {
    "classification": (lambda: load(zoo.bert("ForSequenceClassification", num_labels=3), processor=BERT()), texts),
    "text pair": (
        lambda: load(zoo.bert("ForSequenceClassification", num_labels=3), processor=BERT()), lambda: texts(pair=True),
    ),
    "multi_label": (
        lambda: load(
            zoo.bert("ForSequenceClassification", num_labels=4, problem_type="multi_label_classification"),
            processor=BERT(),
        ), texts,
    ),
    "regression": (lambda: load(zoo.bert("ForSequenceClassification", num_labels=1), processor=BERT()), texts),
    "token_classification": (lambda: load(zoo.bert("ForTokenClassification", num_labels=4), processor=BERT()), texts),
    "question_answering": (
        lambda: load(zoo.bert("ForQuestionAnswering"), processor=BERT()), lambda: texts(pair=True)
    ),
    "masked_token": (lambda: load(zoo.bert("ForMaskedLM"), processor=BERT()), lambda: texts(hole=True)),
    "similarity": (lambda: load(zoo.bert("Model"), processor=BERT()), lambda: texts(pair=True)),
    "own embedding": (lambda: load(zoo.bert("Model"), processor=BERT()), texts),
    "next_token": (lambda: load(zoo.gpt2(), processor=PLAIN()), texts),
    "next_token, grouped queries": (lambda: load(zoo.llama(), processor=PLAIN()), texts),
    "causal classification": (
        lambda: load(zoo.gpt2("ForSequenceClassification", num_labels=3), processor=PLAIN()), texts,
    ),
    "sequence_to_sequence": (lambda: load(zoo.t5(), processor=zoo.t5_tokenizer()), texts),
    "image_classification": (lambda: load(zoo.vit()), images),
    "series_classification": (lambda: load(zoo.patchtst()), series),
    "wrapped text": (lambda: wrap(Bag(), by_length, mask_id=29), texts),
    "wrapped table": (columns, rows),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(MODELS))
def case(request: pytest.FixtureRequest) -> tuple[Any, list[Any], list[Any], Any]:
    """(model, encoded examples, targets, base answers)"""
    make, examples = MODELS[request.param]
    model = make()
    encoded = [model.encode(example) for example in examples()]
    answers, targets = model.predict(encoded)
    return model, encoded, targets, answers


def test_a_batch_of_different_lengths_says_what_each_says_alone(case: Any) -> None:
    model, encoded, targets, base = case
    alone = [model.predict([item]) for item in encoded]
    np.testing.assert_allclose(base.value, [a.value[0] for a, _ in alone], atol=1e-5)
    np.testing.assert_allclose(base.probability, [a.probability[0] for a, _ in alone], atol=1e-5)
    for mine, (_, (other,)) in zip(targets, alone, strict=True):
        if model.task != "similarity":
            assert mine == other
    again = model.forward(encoded[::-1], targets[::-1])
    np.testing.assert_allclose(again.value[::-1], base.value, atol=1e-5)


def test_removing_nothing_is_the_base_and_special_units_never_go(case: Any) -> None:
    model, encoded, _, _ = case
    assert len(model.operators) >= 2
    for item in encoded:
        for operator in model.operators:
            rng = np.random.default_rng(0)
            nothing = model.remove(item, np.zeros(len(item.units), bool), operator, rng)
            only_special = model.remove(item, item.units.special, operator, rng)
            for same in (nothing, only_special):
                assert all(np.array_equal(same.arrays[k], item.arrays[k]) for k in item.arrays)


def test_every_operator_removes_and_the_answer_changes(case: Any) -> None:
    model, encoded, targets, base = case
    for operator in model.operators:
        moved = 0.0
        for item, target, value in zip(encoded, targets, base.value, strict=True):
            changed = model.remove(item, item.units.free, operator, np.random.default_rng(1))
            moved += abs(float(model.forward([changed], [target]).value[0]) - value)
        assert moved > 1e-4, operator


def test_a_removed_unit_is_forgotten(case: Any) -> None:
    """Two examples that differ in one unit are the same once that unit is gone (operators that do not draw)."""
    model, encoded, targets, _ = case
    item = max(encoded, key=lambda e: e.length)
    target = targets[encoded.index(item)]
    if model.modality != "text" or "own" in str(target):
        return
    at = int(np.flatnonzero(item.units.free)[0])
    drop = np.arange(len(item.units)) == at
    ids = item.arrays["input_ids"].copy()
    ids[at] = model.reader.alphabet.plain[-1] if ids[at] != model.reader.alphabet.plain[-1] else 5
    other = type(item)(item.units, {**item.arrays, "input_ids": ids}, item.owner, item.length, item.aside)
    assert abs(model.forward([item], [target]).value[0] - model.forward([other], [target]).value[0]) > 1e-6
    for operator in (o for o in model.operators if o != "resample"):
        if operator == "attention_mask" and model.row.placed and at in target:
            continue  # the target is the unit itself, which still reads itself through the residual stream
        both = [model.remove(e, drop, operator, np.random.default_rng(0)) for e in (item, other)]
        values = model.forward(both, [target, target]).value
        assert values[0] == pytest.approx(values[1], abs=1e-5), operator


def test_integrated_gradients_are_complete(case: Any) -> None:
    model, encoded, targets, base = case
    steps = 256 if model.task == "sequence_to_sequence" else 64
    # a norm without a centre (RMSNorm) makes the objective jump at zero: no path integral converges there
    scale_free = type(model.module).__name__.startswith(("Llama", "T5"))
    for baseline in (name for name in model.baselines if not (scale_free and name == "zero")):
        points = [Point((i + 0.5) / steps, baseline) for i in range(steps)]
        for item, slopes in zip(encoded[:2], slopes_at(model, encoded[:2], targets[:2], points), strict=True):
            assert slopes.dot.shape == (steps, len(item.units))
            assert not slopes.dot[:, item.units.special].any()
            assert not slopes.norm[:, item.units.special].any()
            gap = slopes.end_values[0] - slopes.end_values[1]
            assert slopes.dot.mean(0).sum() == pytest.approx(gap, rel=0.05, abs=0.02)
    first = slopes_at(model, encoded[:1], targets[:1], [Point(1.0)])[0]
    assert first.end_values[0] == pytest.approx(base.value[0], abs=1e-5)
    assert first.value[0] == pytest.approx(base.value[0], abs=1e-5)


def test_slopes_do_not_depend_on_the_batch_and_noise_belongs_to_the_draw(case: Any) -> None:
    model, encoded, targets, _ = case
    points = [Point(0.5), Point(1.0, noise=0.1, draw=3), Point(1.0, noise=0.1, draw=4)]
    together = slopes_at(model, encoded, targets, points)
    for item, target, slopes in zip(encoded, targets, together, strict=True):
        (alone,) = slopes_at(model, [item], [target], points)
        np.testing.assert_allclose(slopes.dot, alone.dot, atol=2e-4, rtol=1e-3)
        np.testing.assert_allclose(slopes.norm, alone.norm, atol=2e-4, rtol=1e-3)
    assert not np.allclose(together[0].value[1], together[0].value[2])


def test_units_are_what_the_reader_promises(case: Any) -> None:
    for item in case[1]:
        units = item.units
        assert units.free.any()
        assert item.owner.max() < len(units)
        owned = np.bincount(item.owner[item.owner >= 0].ravel(), minlength=len(units))
        assert (owned[units.free] > 0).all()
        assert (units.groups[units.special] == -1).all()
        assert (units.groups[units.free] >= 0).all()


def test_rebuilding_gives_the_same_fingerprint_and_another_weight_another(case: Any) -> None:
    model = case[0]
    print_before = model.fingerprint
    assert len(print_before) == 64
    parameter = next(model.module.parameters())
    with torch.no_grad():
        kept = parameter.flatten()[0].item()
        parameter.view(-1)[0] += 1.0
        del model.__dict__["fingerprint"]
        assert model.fingerprint != print_before
        parameter.view(-1)[0] = kept
        del model.__dict__["fingerprint"]
    assert model.fingerprint == print_before


def test_capture_and_reading_agree_on_the_rows(case: Any) -> None:
    model, encoded, targets, base = case
    if model.name == "Sequential":
        return  # has no attention
    item, target = encoded[0], targets[0]
    captured = model.capture([item], [target])
    assert captured.answers.value[0] == pytest.approx(base.value[0], abs=1e-4)
    assert captured.units == [item.units]
    for site in captured.sites:
        rows = read_rows(model, item, target, site.site)
        assert rows
        assert max(rows) < site.shape[2], site.site
        if (
            (item.units.keys >= 0).any()
            and site.site.kind in ("self", "causal", "pooling")
            and not model.traits.encoder_decoder
        ):
            assert int(item.units.keys.max()) < site.shape[3]
        np.testing.assert_allclose(site.rows(0, rows).sum(-1), 1.0, atol=1e-4)


def test_edits_of_attention(case: Any) -> None:
    """Scaling by one changes nothing; uniform attention does; asked again, with less computed, it is the same."""
    model, encoded, targets, base = case
    if model.name == "Sequential":
        return  # has no attention
    same = model.forward(encoded, targets, [Edit("scale", factor=1.0)])
    np.testing.assert_allclose(same.value, base.value, atol=1e-4)
    last = model.capture(encoded[:1], targets[:1]).sites[-1].site.key
    first = model.forward(encoded, targets, [Edit("uniform", site=last)])
    again = model.forward(encoded, targets, [Edit("uniform", site=last)])
    third = model.forward(encoded, targets, [Edit("uniform", site=last)])
    assert np.abs(first.value - base.value).max() > 1e-5
    np.testing.assert_allclose(again.value, first.value, atol=1e-5)
    np.testing.assert_allclose(third.value, first.value, atol=1e-5)
    alone = [
        model.forward([e], [t], [Edit("uniform", site=last)]).value[0] for e, t in zip(encoded, targets, strict=True)
    ]
    np.testing.assert_allclose(first.value, alone, atol=1e-4)


@pytest.mark.parametrize("text", ["", "   ", "[CLS]", "[SEP] [SEP]"])
def test_a_text_without_units_is_refused(text: str) -> None:
    model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=BERT())
    with pytest.raises(InputError, match="at least one unit"):
        model.encode(Example("e", {"text": text}))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    import copy

    whole = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=BERT())
    half = load(copy.deepcopy(zoo.bert("ForSequenceClassification", num_labels=3)), processor=BERT(), dtype=dtype)
    assert half.dtype in (torch.float16, torch.bfloat16)  # type: ignore[attr-defined]
    encoded = [half.encode(example) for example in texts()]
    _, targets = whole.predict(encoded)
    wanted = whole.forward(encoded, targets)
    np.testing.assert_allclose(half.forward(encoded, targets).value, wanted.value, atol=0.5)
    assert np.isfinite(slopes_at(half, encoded, targets, [Point(0.5)])[0].dot).all()
