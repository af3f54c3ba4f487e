"""A model directory that somebody shared: nothing in it runs, names code that runs, or reaches the network."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canary import TEXTS, Canary
from click.testing import Result

from regard.errors import InputError, Unsupported
from regard.message import Message
from regard.models.open.checkpoints import _weights
from regard.models.open.load import load
from regard.models.open.safe_config import without_kernels
from regard.models.open.stored_model import code_file
from regard.networks.family import read_family

Call = Callable[..., Result]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*anything: object, **named: object) -> None:
        raise AssertionError(f"the network was asked: {anything[:2]}")

    monkeypatch.setattr("socket.getaddrinfo", never)
    monkeypatch.setattr("socket.socket.connect", never)


def edit(file: Path, **facts: object) -> None:
    held = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    file.write_text(json.dumps({**held, **facts}), "utf-8")


class _Runs:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def _own_config(c: Canary, folder: Path) -> None:
    edit(folder / "config.json", model_type="own", auto_map={"AutoConfig": "evil.Config"})


def _own_model(c: Canary, folder: Path) -> None:
    edit(
        folder / "config.json", architectures=["Own"], model_type="own",
        auto_map={"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.Model"},
    )  # fmt: skip


def _own_tokenizer(c: Canary, folder: Path) -> None:
    edit(folder / "tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": ["evil.Words", None]})


def _code_elsewhere(c: Canary, folder: Path) -> None:
    edit(folder / "config.json", model_type="own", auto_map={"AutoConfig": "somebody/else--evil.Config"})


def _pickled(c: Canary, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Runs(c.mark), protocol=2))


def _adapter(c: Canary, folder: Path, **facts: object) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import BertForSequenceClassification

    base = BertForSequenceClassification.from_pretrained(c.model)
    tuned = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=1, target_modules=["query"]))
    for file in folder.iterdir():
        file.unlink()
    tuned.save_pretrained(str(folder))
    edit(folder / "adapter_config.json", **{"base_model_name_or_path": str(c.model), **facts})


def _adapter_module(c: Canary, folder: Path) -> None:
    _adapter(c, folder, megatron_config={"a": 1}, megatron_core="evil")


def _adapter_of_code(c: Canary, folder: Path) -> None:
    _adapter(c, folder, base_model_name_or_path=c.factory)


def _adapter_of_id(c: Canary, folder: Path) -> None:
    _adapter(c, folder, base_model_name_or_path="nobody/nothing")


CARRIERS = {
    f.__name__.strip("_"): f
    for f in (_own_config, _own_model, _own_tokenizer, _code_elsewhere, _pickled, _adapter_module, _adapter_of_code,
              _adapter_of_id)
}  # fmt: skip
WANTS_CODE = {"own_config", "own_model", "code_elsewhere"}
NEEDS_NO_CODE = {"own_tokenizer"}
"""transformers has a tokenizer for this model, and uses that instead."""


@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_model_directory_runs_code(carrier: str, canary: Canary, run: Path, regard: Call) -> None:
    folder = canary.model_copy("shared")
    CARRIERS[carrier](canary, folder)
    (folder / "evil.py").write_bytes(canary.file.read_bytes())
    for words in (("explain", folder, "--text", "the film", "--method", "random"), ("capture", folder, "--text", "x")):
        result = regard(*words)
        assert result.exit_code == (0 if carrier in NEEDS_NO_CODE else 2), result.output
        assert ("--allow-code" in result.stderr) == (carrier in WANTS_CODE), result.stderr
    spec = {"kind": "model", "name": str(folder), "params": {"trust_remote_code": True}}
    result = regard("metrics", canary.run_copy("run", run, spec=spec, files=None), "--metric", "sufficiency")
    assert result.exit_code == 2, result.output
    assert "--allow-code" in result.stderr
    assert not canary.ran


def test_code_of_a_directory_runs_when_the_user_allows_it(
    canary: Canary, regard: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers.dynamic_module_utils as dynamic

    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(canary.place / "modules"))
    folder = canary.model_copy("shared")
    edit(folder / "config.json", auto_map={"AutoConfig": "evil.Config"}, model_type="own")
    (folder / "evil.py").write_bytes(canary.file.read_bytes())
    words = ("explain", folder, "--text", "the film", "--method", "random")
    assert regard(*words).exit_code == 2
    assert not canary.ran
    result = regard(*words, "--allow-code")
    assert canary.ran, result.output


def test_a_family_names_directories_only(canary: Canary, regard: Call) -> None:
    family = canary.place / "family"
    member = family / "evil.py:make"
    canary.model_copy("family/seed-0")
    canary.model_copy("family/evil.py:make")
    (family / "evil.py").write_bytes(canary.file.read_bytes())
    about = {"format": "regard-family", "version": 1, "seeds": [0, 1], "best": "seed-0"}
    members = [{"name": "seed-0", "seed": 0}, {"name": "evil.py:make", "seed": 1}]
    (family / "family.json").write_text(json.dumps({**about, "members": members}), "utf-8")
    assert code_file(str(member)) is None, "a directory is never code"
    data = canary.place / "data.jsonl"
    data.write_text("".join(json.dumps({"text": e.inputs["text"], "label": e.label}) + "\n" for e in TEXTS), "utf-8")
    words = ("--experiments", "siblings", "--explainers", "random", "--metrics", "sufficiency")
    regard("audit", family / "seed-0", "--data", data, "--out", canary.place / "out", *words)
    assert not canary.ran
    for name in ("../model", str(canary.model), "evil.py", "nobody"):
        bad = [*members, {"name": name, "seed": 2}]
        (family / "family.json").write_text(json.dumps({**about, "members": bad}), "utf-8")
        with pytest.raises(InputError, match="inside the family"):
            read_family(family)


KERNELS = (
    "kernels-community/flash-attn", "somebody/kernel:forward", "paged|sdpa", "flash_attention_2", "flex_attention",
    "flash_attention_3", {"": "somebody/kernel"},
)  # fmt: skip


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation", "_attn_implementation_internal"])
def test_attention_of_a_config_is_allow_listed(key: str, canary: Canary) -> None:
    expected = load(str(canary.model))
    for number, asked in enumerate(KERNELS):
        folder = canary.model_copy(f"shared-{number}")
        edit(folder / "config.json", **{key: asked})
        model: Any = load(str(folder))
        assert model.module.config._attn_implementation in ("eager", "sdpa")
        item = model.encode(TEXTS[0])
        assert model.predict([item])[0].value == pytest.approx(expected.predict([item])[0].value)
        if key != "_attn_implementation_internal":  # transformers drops this one itself
            assert any("attention implementation" in str(note) for note in model.notes), asked


def test_configs_inside_a_config_are_checked_too() -> None:
    import transformers

    config: Any = transformers.CLIPConfig()
    config.vision_config._attn_implementation_internal = "somebody/kernel"
    config.text_config._experts_implementation_internal = "sonicmoe"
    notes = without_kernels(config, "clip")
    parts = {"vision_config", "text_config"}
    named = [
        {part for part in parts if part in str(note.params["place"])} for note in notes if isinstance(note, Message)
    ]
    assert len(named) == len(notes) == 2
    assert sorted(map(sorted, named)) == [["text_config"], ["vision_config"]]
    assert config.vision_config._attn_implementation is None
    assert without_kernels(config, "clip") == []


def test_quantization_that_fetches_kernels_is_refused(canary: Canary) -> None:
    for name in ("mxfp4", "fp8", "eetq", "somebody/quantizer"):
        folder = canary.model_copy(f"shared-{name.partition('/')[0]}")
        edit(folder / "config.json", quantization_config={"quant_method": name})
        with pytest.raises((Unsupported, InputError)):
            load(str(folder))
    edit(canary.model / "config.json", use_kernels=True, kernel_config={"kernel_mapping": {"Linear": "somebody/x:y"}})
    load(str(canary.model))


def test_an_architecture_is_a_model_of_transformers_and_nothing_else(canary: Canary) -> None:
    import transformers

    config = transformers.AutoConfig.from_pretrained(canary.model)
    for name in ("pipeline", "Trainer", "utils", "AutoProcessor", "__class__"):
        module, _, missing = _weights(
            str(canary.model),
            config,
            name,
            task="classification",
            asked=None,
            trust_remote_code=False,
            download=False,
        )
        assert type(module).__name__ == "BertForSequenceClassification"
        assert missing == []
