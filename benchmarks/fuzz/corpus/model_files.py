"""Model directories that once ended in an internal error, or requested more memory than any machine has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.mutations import DEEP, HUGE, dumps
from benchmarks.fuzz.targets.model_directories import CODES

ENTRIES = Entries()


def _opened(model: Path) -> Case:
    return Case([["capture", str(model), "--text", "a good film"]], CODES)


def _config(name: str, **change: Any) -> None:
    @ENTRIES.past(name)
    def make(originals: Materials, folder: Path) -> Case:
        model = folder / "model"
        shutil.copytree(originals.bert, model)
        about = {**json.loads((model / "config.json").read_text("utf-8")), **change}
        (model / "config.json").write_text(dumps(about), "utf-8")
        return _opened(model)


_config("no attention heads", num_attention_heads=0)
_config("ten million layers", num_hidden_layers=10**7)
_config("ten million hidden numbers", hidden_size=10**7)
_config("a vocabulary beyond memory", vocab_size=2**40)
_config("a negative number of layers", num_hidden_layers=-1)
_config("heads that do not divide the size", num_attention_heads=3)
_config("a number of layers with 5,000 digits", num_hidden_layers=HUGE)
_config("a deep configuration", task_specific_params=DEEP)
_config("labels that are a list", id2label=["a", "b"])
_config("labels with escapes", id2label={"0": "ne\x1b[31mg", "1": "p\u202eos"})
_config("an unknown kind of model", model_type="no-such-model")
_config("an architecture that does not exist", architectures=["NoSuchForSequenceClassification"])
_config("architectures that are a number", architectures=7)
_config("an unknown activation", hidden_act="no_such_activation")
_config(
    "a quantisation that is not installed", quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}
)


def _adapter(name: str, change: Callable[[dict[str, Any]], Any], weights: bytes | None = None) -> None:
    @ENTRIES.past(f"an adapter {name}")
    def make(originals: Materials, folder: Path) -> Case:
        if not originals.adapter.is_dir():
            return Case()
        model = folder / "model"
        shutil.copytree(originals.adapter, model)
        file = model / "adapter_config.json"
        file.write_text(dumps(change(json.loads(file.read_text("utf-8")))), "utf-8")
        if weights is not None:
            (model / "adapter_model.safetensors").write_bytes(weights)
        return _opened(model)


_adapter("whose description is empty", lambda about: {})
_adapter("whose description is a list", lambda about: [about])
_adapter("whose description is deep", lambda about: DEEP)
_adapter("of an unknown kind", lambda about: {**about, "peft_type": "NO_SUCH"})
_adapter("whose kind is a number", lambda about: {**about, "peft_type": 7})
_adapter("without a base", lambda about: {**about, "base_model_name_or_path": None})
_adapter("whose base is a number", lambda about: {**about, "base_model_name_or_path": 7})
_adapter("whose base is nowhere", lambda about: {**about, "base_model_name_or_path": "/nowhere/at/all"})
_adapter("of rank 0", lambda about: {**about, "r": 0})
_adapter("of a rank that is a text", lambda about: {**about, "r": "many"})
_adapter("of modules that do not exist", lambda about: {**about, "target_modules": ["nobody"]})
_adapter("of an unknown task", lambda about: {**about, "task_type": "NO_SUCH"})
_adapter("with an unknown key", lambda about: {**about, "no_such_key": 1})
_adapter("with empty weights", lambda about: about, b"")
_adapter("with cut weights", lambda about: about, b"\x40\x00\x00\x00\x00\x00\x00\x00{")


@ENTRIES.past("an index of weights that points outside its directory")
def _index(originals: Materials, folder: Path) -> Case:
    model = folder / "model"
    shutil.copytree(originals.bert, model, ignore=shutil.ignore_patterns("*.safetensors"))
    names = {"classifier.weight": "../secret.safetensors", "classifier.bias": "/etc/hostname"}
    index = {"metadata": {"total_size": 8}, "weight_map": names}
    (model / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    return _opened(model)


def _network(name: str, change: dict[str, Any]) -> None:
    @ENTRIES.past(f"a network {name}")
    def make(originals: Materials, folder: Path) -> Case:
        model = folder / "model"
        shutil.copytree(originals.network, model, ignore=shutil.ignore_patterns("lock"))
        about = json.loads((model / "regard.json").read_text("utf-8"))
        for key, value in change.items():
            holder = about["config"] if key in about["config"] else about
            holder[key] = value
        (model / "regard.json").write_text(dumps(about), "utf-8")
        return _opened(model)


_network("of size 10**7", {"size": 10**7})
_network("of size 0", {"size": 0})
_network("whose size is a text", {"size": "many"})
_network("without a vocabulary", {"vocabulary": None})
_network("whose vocabulary is a number", {"vocabulary": 7})
_network("whose labels are a number", {"labels": 7})
_network("whose labels are escapes", {"labels": ["ne\x1b]0;x\x07g", "p\u202eos"]})
_network("of an unknown task", {"task": "no such task"})
_network("of an unknown modality", {"modality": "no such modality"})
_network("whose configuration is a list", {"config": []})
