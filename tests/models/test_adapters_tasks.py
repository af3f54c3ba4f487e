"""Every task's objective equals what one computes by hand from the native model's outputs."""

from __future__ import annotations

from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest
import torch

from regard.errors import InputError, UnknownName, Unsupported
from regard.models import objective
from regard.models.ask.gradients import slopes as slopes_at
from regard.models.open.huggingface import infer_task
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.models.read_rows import read_rows
from regard.models.tasks import TASKS
from regard.protocols import Point
from regard.records import Example, Site


def one(model: Any, text: str, pair: str | None = None) -> tuple[Any, Any, float, float, Any]:
    item = model.encode(Example("e", {"text": text} if pair is None else {"text": text, "text_pair": pair}))
    answers, (target,) = model.predict([item])
    rows = answers.distribution
    return item, target, float(answers.value[0]), float(answers.probability[0]), None if rows is None else rows[0]


def odds(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


def native(module: Any, tokenizer: Any, text: str, pair: str | None = None) -> Any:
    with torch.no_grad():
        return module(**tokenizer(text, pair, return_tensors="pt"))


TEXT, PAIR = "the film was great fun", "who wrote it"


def test_classification_and_text_pairs() -> None:
    module, tokenizer = zoo.bert("ForSequenceClassification", num_labels=3), zoo.bert_tokenizer()
    model = load(module, processor=tokenizer)
    for pair in (None, PAIR):
        p = torch.softmax(native(module, tokenizer, TEXT, pair).logits[0].double(), -1).numpy()
        item, target, value, probability, distribution = one(model, TEXT, pair)
        assert target == p.argmax()
        assert value == pytest.approx(odds(p.max()), abs=1e-4)
        assert probability == pytest.approx(p.max(), abs=1e-6)
        np.testing.assert_allclose(distribution, p, atol=1e-6)
    assert sorted(set(item.units.part[item.units.free].tolist())) == [0, 1]
    assert model.labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_one_logit_stands_for_two_classes() -> None:
    said = objective.one_of_many(torch.tensor([[0.7], [0.7]]), torch.tensor([1, 0]))
    assert said.value.tolist() == pytest.approx([0.7, -0.7])
    assert said.probability.tolist() == pytest.approx([1 / (1 + np.exp(-0.7)), 1 / (1 + np.exp(0.7))])
    assert said.distribution is not None
    assert said.distribution.sum(-1).tolist() == pytest.approx([1, 1])
    module = torch.nn.Sequential(torch.nn.Linear(2, 1))
    binary = wrap(module, modality="tabular", columns=["a", "b"], class_tokens=-1, labels=["no", "yes"])
    answers, (target,) = binary.predict([binary.encode(Example("r", {"row": [3.0, -1.0]}))])
    assert answers.value[0] >= 0, "the predicted class has positive log-odds, whichever it is"
    assert target in (0, 1)


def test_multi_label() -> None:
    module = zoo.bert("ForSequenceClassification", num_labels=4, problem_type="multi_label_classification")
    logits = native(module, zoo.bert_tokenizer(), TEXT).logits[0]
    model = load(module, processor=zoo.bert_tokenizer())
    _, target, value, probability, distribution = one(model, TEXT)
    assert model.task == "multi_label"
    assert value == pytest.approx(float(logits.max()), abs=1e-5)
    assert target == int(logits.argmax())
    np.testing.assert_allclose(distribution, torch.sigmoid(logits).numpy(), atol=1e-6)
    assert probability == pytest.approx(float(torch.sigmoid(logits.max())), abs=1e-6)


def test_regression_is_the_output_itself() -> None:
    module = zoo.bert("ForSequenceClassification", num_labels=1)
    model = load(module, processor=zoo.bert_tokenizer())
    output = float(native(module, zoo.bert_tokenizer(), TEXT).logits)
    assert (model.task, model.labels) == ("regression", ())
    assert one(model, TEXT)[2:4] == (pytest.approx(output, abs=1e-5), pytest.approx(output, abs=1e-5))


def test_token_classification_takes_the_surest_unit_that_is_something() -> None:
    module = zoo.bert("ForTokenClassification", num_labels=4)
    module.config.id2label = {0: "A", 1: "B", 2: "O", 3: "C"}
    p = torch.softmax(native(module, zoo.bert_tokenizer(), TEXT).logits[0].double(), -1).numpy()
    model = load(module, processor=zoo.bert_tokenizer())
    item, (position, label), value, probability, _ = one(model, TEXT)
    inside = p[1:-1]
    loud = [i + 1 for i in range(len(inside)) if inside[i].argmax() != 2]
    best = max(loud, key=lambda i: p[i].max()) if loud else 1 + int(inside.max(-1).argmax())
    assert (position, label) == (best, p[best].argmax())
    assert value == pytest.approx(odds(p[best].max()), abs=1e-4)
    assert probability == pytest.approx(p[best].max(), abs=1e-6)
    assert read_rows(model, item, [position, label], Site("s", 0, "self", 0, 2)) == (position,)
    assert "delete" not in model.operators, "deleting would move the target"


def test_question_answering_is_the_best_span_of_the_passage() -> None:
    module, tokenizer = zoo.bert("ForQuestionAnswering"), zoo.bert_tokenizer()
    question, passage = "who wrote it?", "the film was great but the plot was dull"
    out = native(module, tokenizer, question, passage)
    start, end = (torch.softmax(x[0].double(), -1).numpy() for x in (out.start_logits, out.end_logits))
    model = load(module, processor=tokenizer)
    item, (first, last), value, probability, _ = one(model, question, passage)
    inside = [i for i in range(item.length) if item.units.free[i] and item.units.part[i] == 1]
    pairs = [(a, b) for a in inside for b in inside if a <= b < a + 30]
    assert (first, last) == max(pairs, key=lambda ab: np.log(start[ab[0]]) + np.log(end[ab[1]]))
    p = start[first] * end[last]
    assert probability == pytest.approx(p, rel=1e-4)
    assert value == pytest.approx(odds(p), abs=1e-4)


def test_the_log_odds_of_a_span_stay_finite_where_it_is_certain() -> None:
    sure = torch.tensor([[40.0, 0.0, 0.0]])
    said = objective.span(sure, sure, torch.tensor([0]), torch.tensor([0]))
    assert float(said.value) == pytest.approx(40 - np.log(4), abs=1e-3)


def test_next_token() -> None:
    for module in (zoo.gpt2(), zoo.llama()):
        p = torch.softmax(native(module, zoo.plain_tokenizer(), TEXT).logits[0, -1].double(), -1).numpy()
        item, target, value, probability, distribution = one(load(module, processor=zoo.plain_tokenizer()), TEXT)
        assert (target, distribution) == (p.argmax(), None)
        assert value == pytest.approx(odds(p.max()), abs=1e-4)
        assert probability == pytest.approx(p.max(), abs=1e-6)
        model = load(module, processor=zoo.plain_tokenizer())
        assert read_rows(model, item, target, Site("s", 0, "causal", 0, 2)) == (item.length - 1,)


def test_masked_token_and_a_text_without_a_mask() -> None:
    module, tokenizer = zoo.bert("ForMaskedLM"), zoo.bert_tokenizer()
    text = "the [MASK] was great"
    p = torch.softmax(native(module, tokenizer, text).logits[0, 2].double(), -1).numpy()
    model = load(module, processor=tokenizer)
    item, target, value, _, _ = one(model, text)
    assert target == [2, p.argmax()]
    assert value == pytest.approx(odds(p.max()), abs=1e-4)
    assert item.units.special[2], "the hole is the question, not a unit that could be removed"
    assert read_rows(model, item, target, Site("s", 0, "self", 0, 2)) == (2,)
    with pytest.raises(InputError, match="a text with a mask token"):
        one(model, "no hole in it")


def test_sequence_to_sequence_is_the_teacher_forced_log_probability() -> None:
    module, tokenizer = zoo.t5(), zoo.t5_tokenizer()
    model = load(module, processor=tokenizer)
    item, target, value, probability, _ = one(model, TEXT)
    ids = tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        generated = module.generate(**ids, max_new_tokens=32, do_sample=False, num_beams=1)[0, 1:].tolist()
        logits = module(**ids, labels=torch.tensor([target])).logits[0].double()
    assert target == generated[: len(target)]
    every = torch.log_softmax(logits, -1)[torch.arange(len(target)), torch.tensor(target)]
    assert value == pytest.approx(float(every.sum()), abs=1e-3)
    assert probability == pytest.approx(float(every.mean().exp()), abs=1e-4)
    rows = {kind: read_rows(model, item, target, Site("s", 0, kind, 0, 2)) for kind in ("self", "cross", "causal")}  # type: ignore[arg-type]
    assert rows["self"] == tuple(range(item.length))
    assert rows["cross"] == rows["causal"] == tuple(range(len(target)))


def test_similarity_is_the_cosine_of_mean_pooled_embeddings() -> None:
    module, tokenizer = zoo.bert("Model"), zoo.bert_tokenizer()
    a, b = (native(module, tokenizer, t).last_hidden_state[0].mean(0).double() for t in (TEXT, PAIR))
    model = load(module, processor=tokenizer)
    item, _, value, probability, _ = one(model, TEXT, PAIR)
    cosine = float(torch.nn.functional.cosine_similarity(a, b, dim=0))
    assert value == pytest.approx(cosine, abs=1e-5)
    assert probability == pytest.approx((1 + cosine) / 2, abs=1e-5)
    assert set(item.units.part.tolist()) == {0}, "the second text is what the first is compared with"
    alone = one(model, TEXT)
    assert alone[2] == pytest.approx(1.0, abs=1e-5)
    slopes = slopes_at(model, [alone[0]], [alone[1]], [Point(1.0)])[0]
    assert np.abs(slopes.dot).sum() > 1e-3, "a text compared with itself still has a slope"


def test_image_and_series_classification() -> None:
    rng = np.random.default_rng(0)
    image, series = rng.random((8, 8)).astype("float32"), rng.standard_normal((24, 2)).astype("float32")
    with torch.no_grad():
        wanted = [
            zoo.vit()(pixel_values=torch.tensor(image)[None, None]).logits[0],
            zoo.patchtst()(past_values=torch.tensor(series)[None]).prediction_logits[0],
        ]
    given = [(load(zoo.vit()), {"image": image}), (load(zoo.patchtst()), {"series": series})]
    for (model, inputs), logits in zip(given, wanted, strict=True):
        p = torch.softmax(logits.double(), -1).numpy()
        item = model.encode(Example("e", inputs))
        answers, (target,) = model.predict([item])
        assert target == p.argmax()
        assert answers.value[0] == pytest.approx(odds(p.max()), abs=1e-4)
        assert item.units.special[0]
        assert item.units.keys[0] == 0
        assert model.task in TASKS


def test_tabular_slopes_of_a_linear_model_are_known_exactly() -> None:
    linear = torch.nn.Linear(3, 2, bias=True)
    model = wrap(
        torch.nn.Sequential(linear), modality="tabular", columns=["a", "b", "c"], class_tokens=-1,
        background=np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]),
    )  # fmt: skip
    x = np.array([0.5, -1.0, 2.0])
    item = model.encode(Example("r", {"row": x}))
    _, (target,) = model.predict([item])
    w = (linear.weight[target] - linear.weight[1 - target]).detach().double().numpy()
    for baseline, middle in (("zero", np.zeros(3)), ("mean", np.array([2.0, 2.0, 2.0]))):
        (slopes,) = slopes_at(model, [item], [target], [Point(0.3, baseline)])
        np.testing.assert_allclose(slopes.dot[0], w * (x - middle), atol=1e-5)
        np.testing.assert_allclose(slopes.norm[0], np.abs(w), atol=1e-5)
        assert slopes.end_values[0] - slopes.end_values[1] == pytest.approx(float(w @ (x - middle)), abs=1e-5)
    removed = model.remove(item, np.array([True, False, True]), "mean", np.random.default_rng(0))
    np.testing.assert_allclose(removed.arrays["row"], [2.0, -1.0, 2.0])
    drawn = model.remove(item, np.array([True, False, False]), "resample", np.random.default_rng(0))
    assert drawn.arrays["row"][0] in (1.0, 3.0)


@pytest.mark.parametrize(
    ("architecture", "settings", "task"),
    [
        ("RobertaForSequenceClassification", {"num_labels": 2}, "classification"),
        ("RobertaForSequenceClassification", {"num_labels": 1}, "regression"),
        ("BertForSequenceClassification", {"problem_type": "multi_label_classification"}, "multi_label"),
        ("DistilBertForTokenClassification", {}, "token_classification"),
        ("XLNetForQuestionAnsweringSimple", {}, "question_answering"),
        ("GPT2LMHeadModel", {}, "next_token"),
        ("LlamaForCausalLM", {}, "next_token"),
        ("BertForPreTraining", {}, "masked_token"),
        ("MarianMTModel", {}, "sequence_to_sequence"),
        ("BertModel", {}, "similarity"),
        ("DeiTForImageClassificationWithTeacher", {}, "image_classification"),
        ("PatchTSTForClassification", {}, "series_classification"),
    ],
)
def test_the_task_is_read_off_the_architecture(architecture: str, settings: dict[str, Any], task: str) -> None:
    from types import SimpleNamespace

    assert infer_task(SimpleNamespace(**{"problem_type": None, "num_labels": 2, **settings}), architecture) == task


def test_an_unknown_task() -> None:
    with pytest.raises(UnknownName, match="regression"):
        load(zoo.bert("Model"), processor=zoo.bert_tokenizer(), task="regresion")
    with pytest.raises(Unsupported, match="task="):
        infer_task(None, "BertForSomethingElse")
