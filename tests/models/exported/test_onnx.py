"""ONNX graphs: their attention equals that of torch, and every method without gradients works on them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import adapter_zoo as zoo
import numpy as np
import pytest
from exported_models import exported_bert, keras_like, without_attention

from regard.audits.audit import audit
from regard.audits.explain import explain
from regard.errors import EnvironmentProblem, InputError, RegardError, Unsupported
from regard.judge.verdicts import verdicts
from regard.models.adapter import TorchModel
from regard.models.ask.gradients import slopes
from regard.models.capture import capture
from regard.models.edited_capture import edited_capture
from regard.models.exported.onnx_model import OnnxModel
from regard.models.open.load import load, rebuild
from regard.records import Edit, Edits, Example, Spec

TEXTS = ["the film was great fun", "a bad film", "the good film was not bad at all"]
EDITS: list[Edits] = [
    [Edit("scale", "*", factor=1.0)],
    [Edit("uniform", "*")],
    [Edit("permute", "*.1.*", seed=3)],
    [Edit("knock_out", "*", keys=(2,))],
    [Edit("mask_heads", "*.0.*", heads=(1,))],
    [[Edit("uniform", "*.0.*")], [], [Edit("replace", "*.1.*", queries=(0,), values=np.eye(10, dtype=np.float32)[1])]],
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def torch_model() -> TorchModel:
    model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer())
    assert isinstance(model, TorchModel)
    return model


def examples(texts: list[str]) -> list[Example]:
    return [Example(str(i), {"text": text}) for i, text in enumerate(texts)]


def test_attention_of_a_graph_equals_that_of_torch(graph: Path, torch_model: TorchModel) -> None:
    model = load(str(graph))
    assert isinstance(model, OnnxModel)
    ours, theirs = capture(model, TEXTS, check="always"), capture(torch_model, TEXTS)
    assert [s.site.key for s in ours.sites] == [s.site.key for s in theirs.sites]
    for one, other in zip(ours.sites, theirs.sites, strict=True):
        assert one.site.kind == other.site.kind == "self"
        np.testing.assert_allclose(one.dense().weights, other.dense().weights, atol=1e-5)
    np.testing.assert_allclose(ours.answers.value, theirs.answers.value, atol=1e-5)
    assert "check.exported" in repr(ours.checked)


@pytest.mark.parametrize("edits", EDITS, ids=lambda edits: str(getattr(edits[0], "what", "rows")))
def test_edited_attention_gives_the_answers_of_torch(graph: Path, torch_model: TorchModel, edits: Edits) -> None:
    answers = []
    for model in (load(str(graph)), torch_model):
        batch = [model.encode(e) for e in examples([TEXTS[2]] * 3)]
        _, targets = model.predict(batch)
        answers.append(model.forward(batch, targets, edits).value)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-5)


def test_a_fixed_shape_is_filled_up_and_cut_off_again(tmp_path: Path, torch_model: TorchModel) -> None:
    model = load(str(exported_bert(tmp_path / "fixed", fixed=True)))
    ours, theirs = capture(model, TEXTS, check="always"), capture(torch_model, TEXTS)
    for one, other in zip(ours.sites, theirs.sites, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.dense().weights, other.dense().weights, atol=1e-5)
    edits = EDITS[3]
    batch = [model.encode(e) for e in examples(TEXTS)]
    _, targets = model.predict(batch)
    values = torch_model.forward([torch_model.encode(e) for e in examples(TEXTS)], targets, edits).value
    np.testing.assert_allclose(model.forward(batch, targets, edits).value, values, atol=1e-5)
    assert len(model.windows(Example("long", {"text": " ".join(TEXTS * 2)}))) > 1


def test_an_int8_graph_is_read_and_proved(graph: Path, tmp_path: Path, torch_model: TorchModel) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    small = tmp_path / "int8.onnx"
    quantize_dynamic(str(graph), str(small), weight_type=QuantType.QInt8)
    model = load(str(small), processor=str(graph.parent))
    ours, theirs = capture(model, TEXTS, check="always"), capture(torch_model, TEXTS)
    for one, other in zip(ours.sites, theirs.sites, strict=True):
        np.testing.assert_allclose(one.dense().weights, other.dense().weights, atol=0.1)  # quantized, so not equal
        np.testing.assert_allclose(one.dense().weights.sum(-1)[0, :, :5], 1.0, atol=1e-5)
    assert any("model_note.quantized_graph" in repr(note) for note in model.notes)
    alone = [model.predict([model.encode(e)])[0].value[0] for e in examples(TEXTS)]
    together = model.predict([model.encode(e) for e in examples(TEXTS)])[0].value
    np.testing.assert_allclose(together, alone, atol=1e-6)  # the scale of a batch would be that of all its texts
    batch = [model.encode(e) for e in examples(TEXTS)]
    _, targets = model.predict(batch)
    same = model.forward(batch, targets, [Edit("scale", "*", factor=1.0)])
    np.testing.assert_allclose(same.value, ours.answers.value, atol=1e-5)
    with pytest.raises(Unsupported, match="quantized graphs cannot be rebuilt"):
        load(str(small), processor=str(graph.parent), rebuild=True)
    with pytest.raises(RegardError, match="the float32 graph with --rebuild") as refused:
        explain(model, TEXTS[0], ["integrated_gradients"])
    assert "a quantized graph cannot be rebuilt" in str(refused.value)
    assert any("onnx_no_gradients_quantized" in repr(note) for note in model.notes)


def test_a_missing_tokenizer_names_the_option(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.onnx").write_bytes(graph.read_bytes())
    with pytest.raises(InputError, match="--processor DIR"):
        load(str(tmp_path / "alone.onnx"))


def test_perturbation_and_attention_methods_equal_torch(graph: Path, torch_model: TorchModel) -> None:
    model = load(str(graph))
    for method in ("leave_one_out", "attention", "rollout"):
        ours, theirs = (explain(m, TEXTS[2], [method]).relevance[method][0] for m in (model, torch_model))
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert not slopes.supports(model)
    with pytest.raises(RegardError, match=r"needs gradient.*--rebuild"):
        explain(model, TEXTS[0], ["integrated_gradients"])


def test_a_rebuilt_graph_has_the_gradients_of_torch(graph: Path, torch_model: TorchModel) -> None:
    model = load(str(graph), rebuild=True)
    assert any(
        "model_note.rebuilt" in repr(note) and "BertForSequenceClassification" in repr(note) for note in model.notes
    )
    method = "integrated_gradients"
    ours, theirs = (explain(m, TEXTS[2], [method]).relevance[method][0] for m in (model, torch_model))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_spec_of_a_graph_rebuilds_it(graph: Path) -> None:
    model = load(str(graph), processor=str(graph.parent), labels="bad=0")
    assert model.spec is not None
    again = rebuild(Spec.from_json(json.loads(json.dumps(model.spec.to_json()))))
    assert (again.fingerprint, again.labels) == (model.fingerprint, ("bad", "LABEL_1", "LABEL_2"))


def test_weights_under_edits_are_those_of_torch(graph: Path, torch_model: TorchModel) -> None:
    tables = []
    for model in (load(str(graph)), torch_model):
        encoded = model.encode(examples(TEXTS)[2])
        taken = edited_capture(model, encoded, 0, [Edit("knock_out", "*.0.*", keys=(2,))])
        tables.append([site.dense().weights for site in taken.sites])
    for ours, theirs in zip(*tables, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert tables[0][0][..., 2].max() == 0.0


def test_an_audit_of_a_graph_ends_in_verdicts(graph: Path, tmp_path: Path) -> None:
    words = ["good", "bad", "film", "the", "was", "very", "fun", "dull", "not", "great"]
    texts = [" ".join(np.random.default_rng(i).permutation(words)[:6]) for i in range(6)]
    data = [{"text": text, "label": i % 3} for i, text in enumerate(texts)]
    run = audit(
        str(graph.parent),
        data,
        out=tmp_path / "run",
        explainers=["attention", "leave_one_out", "integrated_gradients", "random"],
        metrics=["comprehensiveness"],
        experiments=["permutation"],
    )
    judged = {v.question: v for judgement in verdicts(run) for v in judgement.verdicts}
    assert judged["matter"].answer in ("holds", "fails", "mixed", "uninformative")
    assert {s.method for s in run.scores()} >= {"attention", "leave_one_out", "random"}
    assert "needs gradient" in run.skipped["integrated_gradients"]


def test_a_keras_like_graph_is_read_with_an_encode_function(tmp_path: Path) -> None:
    words = {"good": 1, "bad": 2, "film": 3, "the": 4}
    path = keras_like(tmp_path / "keras.onnx", length=4)
    model = load(str(path), processor=lambda text: [words.get(w, 0) for w in text.split()], labels=["neg", "pos"])
    taken = capture(model, ["the bad film the", "good the film film"], check="always")
    assert [s.site.kind for s in taken.sites] == ["pooling"]
    assert taken.sites[0].rows(0, [0])[0, 0].argmax() == 1
    assert taken.targets == (0, 1)
    with pytest.raises(InputError, match="exactly 4 tokens"):
        capture(model, "the film")


def test_a_graph_without_attention_is_one_line(tmp_path: Path, graph: Path) -> None:
    path = without_attention(tmp_path / "bag.onnx")
    with pytest.raises(Unsupported, match="expected a graph with attention; got no Softmax that weighs values"):
        load(str(path), processor=str(graph.parent))


def test_other_labels_than_the_config_are_one_line(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "five"
    folder.mkdir()
    for path in graph.parent.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {str(i): f"c{i}" for i in range(5)}
    config["label2id"] = {f"c{i}": i for i in range(5)}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"expected 5 classes.*got 3 outputs"):
        load(str(folder))


def test_broken_files_and_missing_parts_are_one_line(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "model.onnx").write_bytes(graph.read_bytes())
    with pytest.raises(InputError, match="a tokenizer beside the graph"):
        load(str(alone))
    (alone / "model.onnx").write_bytes(graph.read_bytes()[:1000])
    with pytest.raises(InputError, match="expected an ONNX graph"):
        load(str(alone))
    with pytest.raises(InputError, match="no such file"):
        load(str(tmp_path / "none.onnx"))
    (alone / "second.onnx").write_bytes(b"")
    (alone / "model.onnx").rename(alone / "first.onnx")
    with pytest.raises(InputError, match=r"one \.onnx file; got first.onnx, second.onnx"):
        load(str(alone))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'regard\[onnx\]'"):
        load(str(graph))
