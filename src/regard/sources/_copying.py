"""Training of the planted answer models: two layers of attention that answer by one rule."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.datasets.copying_prompts import CITIES, MEMORY, NAMES, Rule
from regard.measures.keyed_random import keyed_rng
from regard.records import Ints
from regard.training.word_tokenizer import word_tokenizer

WIDTH, HEADS = 64, 4
HEAD = WIDTH // HEADS
STEPS = {"asked": 300, "first": 100, "memory": 100}
BATCH = 48


def train_copier(rule: Rule, seed: int, out: Path) -> dict[str, float]:
    """Train one model, save it with its tokenizer, and return its accuracy on fresh prompts."""
    torch.manual_seed(seed)
    tokenizer = word_tokenizer([*NAMES, *CITIES, ". ?"])
    model = _network(len(tokenizer))
    batches = _Batches(tokenizer, rule, seed)
    steps = STEPS[rule]
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, 2.0 * (1 - step / steps)))
    for _ in range(steps):
        ids, targets, start = batches.draw()
        logits = model(input_ids=ids).logits[:, start::2]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        ids, targets, start = batches.draw(400)
        accuracy = float((model(input_ids=ids).logits[:, start].argmax(-1) == targets[:, 0]).double().mean())
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return {"accuracy": accuracy}


class _Batches:
    """Token ids of prompts with the answers to all their names, in random order."""

    def __init__(self, tokenizer: Any, rule: Rule, seed: int) -> None:
        vocabulary = tokenizer.get_vocab()
        self.names, self.cities = (torch.tensor([vocabulary[w] for w in words]) for words in (NAMES, CITIES))
        self.memory = torch.tensor([vocabulary[MEMORY[name]] for name in NAMES])
        self.signs = {sign: vocabulary[sign] for sign in (".", "?", "<user>", "<end>", "<assistant>")}
        self.rule = rule
        self.rng = keyed_rng(seed, "copier", rule)

    def draw(self, size: int = BATCH) -> tuple[Tensor, Tensor, int]:
        """Return (ids, targets, position of the first name to answer; the others follow at every second position)."""
        count = int(self.rng.integers(3, 8))
        names = torch.from_numpy(self.rng.permuted(_rows(size, len(NAMES)), axis=1)[:, :count])
        cities = self.cities[torch.from_numpy(self.rng.permuted(_rows(size, len(CITIES)), axis=1)[:, :count])]
        order = torch.from_numpy(self.rng.permuted(_rows(size, count), axis=1))
        queried = names.gather(1, order)
        targets = {
            "asked": cities.gather(1, order),
            "first": cities[:, :1].expand(-1, count),
            "memory": self.memory[queried],
        }[self.rule]
        stops = torch.full_like(names, self.signs["."])
        facts = torch.stack([self.names[names], cities, stops], -1).flatten(1)
        ends = torch.tensor([[self.signs["?"], self.signs["<end>"], self.signs["<assistant>"]]]).expand(size, -1)
        start = torch.full((size, 1), self.signs["<user>"])
        answers = torch.stack([self.names[queried], targets], -1).flatten(1)
        ids = torch.cat([start, facts, self.names[queried[:, :1]], ends, answers], 1)
        return ids, targets, ids.shape[1] - 2 * count


def _rows(size: int, count: int) -> Ints:
    return np.tile(np.arange(count), (size, 1))


def _network(size: int) -> Any:
    """A Llama of two layers; its start makes copying quick to learn.

    Head 0 of layer 0 looks at the previous token, by biases alone. Head 0 of layer 1 compares a token with that head's
    output. Only the first two of eight rotary frequencies turn noticeably, so the comparison ignores distance.
    """
    transformers: Any = importlib.import_module("transformers")  # here: the import takes seconds
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=512,
        initializer_range=WIDTH**-0.5,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e8},
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    first, second = (layer.self_attn for layer in model.model.layers)
    half = HEAD // 2
    angles = 1e8 ** (-torch.arange(half) / half)
    sharpness = 40.0**0.5
    with torch.no_grad():
        for projection in (first.q_proj, first.k_proj):
            projection.weight[:HEAD] = 0.0
            projection.bias[:HEAD] = 0.0
        turning = slice(0, 2)
        first.k_proj.bias[:half][turning] = sharpness
        first.q_proj.bias[:half][turning] = sharpness * torch.cos(angles[turning])
        first.q_proj.bias[half:HEAD][turning] = -sharpness * torch.sin(angles[turning])
        output = first.o_proj.weight[:, :HEAD]
        output.copy_(torch.linalg.qr(output)[0])
        still = [i for i in range(HEAD) if i % half >= 2]
        second.q_proj.weight[:HEAD] = 0.0
        second.k_proj.weight[:HEAD] = 0.0
        second.q_proj.weight[still] = 2.0 * first.v_proj.weight[still]
        second.k_proj.weight[still] = 2.0 * output.T[still]
    return model
