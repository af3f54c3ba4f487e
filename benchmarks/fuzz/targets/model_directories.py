"""Model directories: Hugging Face, adapters, regard's own networks; hostile JSON, damaged weights, planted code."""

from __future__ import annotations

import json
import pickle
import shutil
import struct
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case, evil, evil_module
from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import INPUT_CODES

CODES = INPUT_CODES | {4}
"""4: a configuration may ask for a package that is not installed."""
NUMBERS: tuple[Any, ...] = (0, -1, 1, 3, 10**7, 2**63, 1.5, "2", None, [], "@huge@")
SIZES = (
    "num_attention_heads",
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "vocab_size",
    "num_labels",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
)


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    kinds = [originals.bert, originals.bert, originals.network]
    if originals.adapter.is_dir():
        kinds.append(originals.adapter)
    model = folder / "model"
    shutil.copytree(rng.choice(kinds), model, ignore=shutil.ignore_patterns("lock"))
    rng.choice((_json, _json, _json, _sizes, _weights, _weights, _code, _files))(rng, model)
    return opened(model, rng)


def opened(model: Path, rng: Random | None = None) -> Case:
    """Return a command that reads and runs a model."""
    words = (("capture", str(model), "--text", "a quiet film"), ("explain", str(model), "--text", "a good film"))
    return Case([list(words[0] if rng is None else rng.choice(words))], CODES)


def _described(model: Path) -> list[Path]:
    return sorted(path for path in model.iterdir() if path.suffix == ".json")


def _json(rng: Random, model: Path) -> None:
    file = rng.choice(_described(model))
    damaged = mutations.json_value(json.loads(file.read_text("utf-8")), rng)
    content = mutations.dumps(damaged).encode("utf-8", "surrogatepass")
    file.write_bytes(mutations.data(content, rng) if rng.random() < 0.15 else content)


def _sizes(rng: Random, model: Path) -> None:
    """Write wrong sizes."""
    file = next(
        (model / name for name in ("config.json", "regard.json") if (model / name).is_file()), _described(model)[0]
    )
    about = json.loads(file.read_text("utf-8"))
    sizes = about.get("config", about) if isinstance(about.get("config", about), dict) else about
    numbers = [key for key, value in sizes.items() if isinstance(value, int | float)]
    for name in rng.sample([*SIZES, *numbers], 2):
        sizes[name] = rng.choice(NUMBERS)
    file.write_text(mutations.dumps(about), "utf-8")


def _weights(rng: Random, model: Path) -> None:
    file = rng.choice(sorted(model.glob("*.safetensors")))
    content = file.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    if rng.random() < 0.5:
        head = json.loads(content[8 : 8 + size])
        damaged = mutations.dumps(mutations.json_value(head, rng)).encode("utf-8", "replace")
        file.write_bytes(struct.pack("<Q", len(damaged)) + damaged + content[8 + size :])
    else:
        file.write_bytes(mutations.data(content, rng))


class Payload:
    """A pickle that runs code when it is loaded."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


def _code(rng: Random, model: Path) -> None:
    """Put code beside the weights: it must not run."""
    folder = model.parent
    evil_module(model)
    shutil.copy(model / "evil.py", model / "modeling_evil.py")
    code = evil(folder) + evil(model)
    for name in rng.sample(
        ("pytorch_model.bin", "adapter_model.bin", "model.pt", "training_args.bin", "optimizer.pt"), 2
    ):
        (model / name).write_bytes(pickle.dumps(Payload(code)))
    if rng.random() < 0.5:
        for weights in model.glob("*.safetensors"):
            weights.unlink()
    config = model / "config.json"
    if config.is_file():
        about = json.loads(config.read_text("utf-8"))
        about["auto_map"] = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.make"}
        about["trust_remote_code"] = True
        if rng.random() < 0.5:
            about["model_type"] = rng.choice(("evil", "bert"))
        if rng.random() < 0.3:
            about["attn_implementation"] = about["_attn_implementation"] = "kernels-community/flash-attn"
        config.write_text(json.dumps(about), "utf-8")


def _files(rng: Random, model: Path) -> None:
    """Remove or empty files, or replace them by directories."""
    file = rng.choice(sorted(path for path in model.iterdir() if path.is_file()))
    how = rng.random()
    file.unlink()
    if how < 0.3:
        file.write_bytes(b"")
    elif how < 0.5:
        file.mkdir()
    elif how < 0.6:
        file.symlink_to(file.name)
