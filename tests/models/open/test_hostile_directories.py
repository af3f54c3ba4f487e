"""Model directories that somebody else wrote: each opens or is refused in one line, before it can fill the memory."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adapter_zoo as zoo
import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.errors import RegardError
from regard.models.open.load import load
from regard.models.open.weight_files import header, held, weight_files
from regard.networks.checkpoint import save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.tabular import TabularTransformer
from regard.networks.vocabulary import Vocabulary
from regard.records import Example

TEXT = Example("e", {"text": "the film was great fun"})
WRONG: tuple[Any, ...] = (None, "x", -1, 0, [1, "a"], {"a": 1}, 1.5, True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    zoo.bert("ForSequenceClassification", num_labels=3).save_pretrained(folder)
    zoo.bert_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


@pytest.fixture(scope="module")
def adapter(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from peft import LoraConfig, get_peft_model
    from transformers import BertForSequenceClassification

    base = BertForSequenceClassification.from_pretrained(original, num_labels=3)
    tuned = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"]))
    place = tmp_path_factory.mktemp("adapter")
    tuned.save_pretrained(str(place))
    return place


def change(path: Path, **settings: Any) -> None:
    about = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**about, **settings}), "utf-8")


def refused(folder: Path, *words: str) -> None:
    with pytest.raises(RegardError) as caught:
        load(folder, device="cpu")
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line


def opens_or_is_refused(folder: Path) -> None:
    """Anything but an error of our own, in one line, fails the test."""
    try:
        model = load(folder, device="cpu")
        model.predict([model.encode(TEXT)])
    except RegardError as error:
        assert "\n" not in str(error)  # noqa: PT017 - a model that opens is fine, too


@pytest.mark.parametrize(
    ("setting", "value", "word"),
    [
        ("num_hidden_layers", 10**7, "num_hidden_layers of at most 512"),
        ("num_hidden_layers", 400, "fits its weights"),  # 400 layers of 768: built in memory they would be 11 GB
        ("hidden_size", 10**9, "fits its weights"),
        ("vocab_size", 10**12, "fits its weights"),
        ("vocab_size", 10**20, "vocab_size of at most"),
        ("intermediate_size", 10**11, "fits its weights"),
        ("max_position_embeddings", 10**12, "fits its weights"),
        ("type_vocab_size", 10**12, "fits its weights"),
        ("num_labels", 10**9, "num_labels of at most"),
        ("num_attention_heads", 0, ""),
        ("num_attention_heads", -1, "num_attention_heads"),
        ("num_attention_heads", 10**9, "num_attention_heads of at most"),
        ("num_attention_heads", 3, ""),
        ("model_type", "no-such-type", ""),
        ("architectures", ["NoSuchArchitecture"], ""),
        ("architectures", "BertForSequenceClassification", ""),
    ],
)
def test_a_config_that_asks_for_what_no_weights_hold(setting: str, value: Any, word: str, folder: Path) -> None:
    change(folder / "config.json", **{setting: value})
    if setting == "num_hidden_layers" and value == 400:
        change(folder / "config.json", hidden_size=768, intermediate_size=3_072)
    refused(folder, word)


def test_every_setting_with_a_wrong_type(original: Path, folder: Path) -> None:
    settings = json.loads((original / "config.json").read_text("utf-8"))
    for number, setting in enumerate(settings):
        change(folder / "config.json", **{**settings, setting: WRONG[number % len(WRONG)]})
        opens_or_is_refused(folder)


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"[" * 100_000, b"\xff\xfe", b"null", b"{" * 50, b"9" * 5_000])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_descriptions_that_are_none(name: str, content: bytes, folder: Path) -> None:
    (folder / name).write_bytes(content)
    refused(folder, name)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"[" * 100_000, bytes(range(256)), b'{"model": {"type": "BPE"}}']
)
def test_malformed_tokenizers(name: str, content: bytes, folder: Path) -> None:
    (folder / name).write_bytes(content)
    opens_or_is_refused(folder)


def test_a_binary_vocabulary(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_bytes(bytes(range(256)) * 10)
    opens_or_is_refused(folder)


HEADERS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "five bytes": lambda content: content[:5],
    "huge header": lambda content: struct.pack("<Q", 2**63) + content[8:],
    "header beyond the file": lambda content: struct.pack("<Q", len(content)) + content[8:],
    "header that is a list": lambda content: struct.pack("<Q", 2) + b"[]" + content[8:],
    "header of noise": lambda content: struct.pack("<Q", 4) + b"\xff\xfe\x00\x01" + content[8:],
    "deep header": lambda content: struct.pack("<Q", 50_000) + b"[" * 50_000 + content,
    "entries of numbers": lambda content: struct.pack("<Q", 7) + b'{"a":1}' + content[8:],
    "shapes of words": lambda content: struct.pack("<Q", 19) + b'{"a":{"shape":"x"}}' + content[8:],
    "a pickle": lambda content: b"\x80\x04\x95" + content,
}


@pytest.mark.parametrize("case", HEADERS)
def test_weights_with_lying_headers(case: str, folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(HEADERS[case](weights.read_bytes()))
    refused(folder, "weights of")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "sub/model.safetensors", "a\\b", ""])
def test_an_index_names_only_files_beside_it(name: str, folder: Path) -> None:
    index = {"weight_map": {"classifier.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    refused(folder, "names of files beside it")


def test_links_may_lead_into_the_cache_of_the_hub_only(original: Path, tmp_path: Path) -> None:
    cache = tmp_path / "models--somebody--bert"
    (cache / "blobs").mkdir(parents=True)
    snapshot = cache / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(original.iterdir())):
        blob = cache / "blobs" / f"{number:040x}"
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob.name)
    assert load(snapshot, device="cpu").labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to("/etc/passwd")
    refused(snapshot, "a link to /etc/passwd")
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to("/dev/zero")
    refused(snapshot, "a device")


def test_pipes_beside_the_weights(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    refused(folder)


def test_held_counts_what_lies_there(original: Path) -> None:
    weights = held(original)
    tensors = load_file(original / "model.safetensors")
    assert weights.tensors == {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    assert weights.size == (original / "model.safetensors").stat().st_size
    assert header(weight_files(original)[0]) == weights.tensors


ADAPTERS: dict[str, tuple[Any, str]] = {
    # case: settings (or the whole content), a word of the line
    "a list": (b"[]", "JSON object"),
    "a number": (b"3", "JSON object"),
    "deep": (b"[" * 100_000, "nested too deeply"),
    "no base": ({"base_model_name_or_path": None}, "base_model_name_or_path"),
    "a base of numbers": ({"base_model_name_or_path": [1]}, "base_model_name_or_path"),
    "a base that is not there": ({"base_model_name_or_path": "/no/such/place"}, "Hugging Face model"),
    "a base that is itself": ({"base_model_name_or_path": "."}, "the adapter itself"),
    "no kind": ({"peft_type": None}, "peft_type"),
    "an unknown kind": ({"peft_type": "NO_SUCH"}, "can be opened"),
    "rank 0": ({"r": 0}, "can be opened"),
    "rank of words": ({"r": "two"}, "whole number"),
    "negative rank": ({"r": -1}, "whole number"),
    "huge rank": ({"r": 10**9}, "at most"),
    "huge ranks by pattern": ({"rank_pattern": {"query": 10**9}}, "at most"),
    "targets of numbers": ({"target_modules": 3}, "can be opened"),
    "targets that are not there": ({"target_modules": ["nothing"]}, "can be opened"),
    "alpha of words": ({"lora_alpha": "x"}, "can be opened"),
    "dropout of words": ({"lora_dropout": "x"}, "can be opened"),
}


@pytest.mark.parametrize("case", ADAPTERS)
def test_malformed_adapters(case: str, adapter: Path, tmp_path: Path) -> None:
    settings, word = ADAPTERS[case]
    copy = Path(shutil.copytree(adapter, tmp_path / "adapter"))
    if isinstance(settings, bytes):
        (copy / "adapter_config.json").write_bytes(settings)
    else:
        change(copy / "adapter_config.json", **settings)
    refused(copy, word)


def test_an_adapter_of_an_adapter_and_damaged_weights(adapter: Path, tmp_path: Path) -> None:
    first, second = (Path(shutil.copytree(adapter, tmp_path / name)) for name in ("first", "second"))
    change(first / "adapter_config.json", base_model_name_or_path=str(second))
    change(second / "adapter_config.json", base_model_name_or_path=str(first))
    refused(first, "another adapter")
    change(first / "adapter_config.json", base_model_name_or_path=str(tmp_path))
    refused(first)
    third = Path(shutil.copytree(adapter, tmp_path / "third"))
    content = (third / "adapter_model.safetensors").read_bytes()
    (third / "adapter_model.safetensors").write_bytes(content[: len(content) // 2])
    refused(third)
    tensors = {
        name: tensor[:1].contiguous() for name, tensor in load_file(adapter / "adapter_model.safetensors").items()
    }
    save_file(tensors, third / "adapter_model.safetensors")
    refused(third)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A small network of regard's own."""
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(["the film was great fun"])
    made = AttentionClassifier(words=len(vocabulary), classes=2, size=6, hidden=4)
    save_checkpoint(
        tmp_path / "network", made, labels=["neg", "pos"], task="classification", modality="text",
        facts={"vocabulary": vocabulary.to_json()},
    )  # fmt: skip
    return tmp_path / "network"


@pytest.mark.parametrize(
    "settings",
    [{"words": 10**12}, {"size": 10**9}, {"hidden": 10**7}, {"classes": 10**11}, {"aspects": 10**12},
     {"words": "many"}, {"size": None}, {"encoder": 3}, {"attention": []}, {"size": 0}, {"hidden": -4}, {"no": 1}],
)  # fmt: skip
def test_networks_of_our_own_that_do_not_fit_their_weights(settings: dict[str, Any], network: Path) -> None:
    about = json.loads((network / "regard.json").read_text("utf-8"))
    change(network / "regard.json", config={**about["config"], **settings})
    refused(network)


def test_ten_million_layers_are_never_built(tmp_path: Path) -> None:
    made = TabularTransformer(columns=3, classes=2, size=8, heads=2, layers=1)
    save_checkpoint(tmp_path, made, labels=["a", "b"], task="classification", modality="tabular")
    change(tmp_path / "regard.json", config={**made.config, "layers": 10**7})
    refused(tmp_path, "10000000 layers")


def test_every_entry_of_a_network_with_a_wrong_type(network: Path) -> None:
    about = json.loads((network / "regard.json").read_text("utf-8"))
    for entry in about:
        for value in WRONG:
            change(network / "regard.json", **{**about, entry: value})
            opens_or_is_refused(network)


@pytest.mark.parametrize(
    "settings",
    [{"members": 3}, {"members": [3]}, {"members": [{"name": "../../x", "seed": 0}]}, {"best": "../../x"},
     {"best": None}, {"seeds": 3}],
)  # fmt: skip
def test_families_name_only_directories_beside_them(settings: dict[str, Any], network: Path) -> None:
    about = {"format": "regard-family", "version": 1, "seeds": [0], "best": network.name,
             "members": [{"name": network.name, "seed": 0}]}  # fmt: skip
    (network.parent / "family.json").write_text(json.dumps(about), "utf-8")
    assert load(network.parent, device="cpu").labels == ("neg", "pos")
    (network.parent / "family.json").write_text(json.dumps({**about, **settings}), "utf-8")
    refused(network.parent, "family.json")
