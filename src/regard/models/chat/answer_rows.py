"""The log-odds of an answer's tokens while parts of the prompt are hidden or deleted, from one cached pass.

The rows that predict an answer of T tokens are the last token of the prompt and all answer tokens but the last. One
plain pass over prompt and answer gives their log-odds and the keys and values of the prompt. *Row knock-out* computes
these T rows again with some prompt columns hidden from them. The rows of many knock-outs stand side by side in one
call (position ids and a mask keep them apart), so no keys are copied; one group hides nothing and must repeat the
plain pass, or the model is refused. *Deletion* reads another prompt, from its first different token on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, Unsupported
from regard.models.ask.chat_model import ChatModel
from regard.models.ask.prefix_sharing import cache_layers, cache_of, call_accepted
from regard.models.chat.log_odds import token_log_odds
from regard.records import Bools, Floats

CELLS = 1 << 26
"""Most entries of the mask, and of the logits, in one call."""
TOLERANCE = 1e-3
HALF_TOLERANCE = 0.25
"""Largest difference between the plain pass and the repeated rows, in nats, for float32 and for half precision."""


class AnswerRows:
    """Answers questions about one prompt and one answer.

    base: (tokens,) log-odds of the answer's tokens in the plain pass.
    """

    def __init__(self, chat: ChatModel, prompt: Sequence[int], answer: Sequence[int]) -> None:
        if len(prompt) < 2 or not answer:
            raise InputError("answer", expected="a prompt and an answer with tokens", got="too few tokens")
        chat.refuse_too_long(len(prompt), len(answer))
        self.chat, self.prompt, self.answer = chat, list(prompt), list(answer)
        self._targets = torch.tensor(self.answer, device=chat.device)
        self._computed = 0
        self._layers: list[tuple[Tensor, Tensor]] = []
        self.base, self._layers = self._read(self.prompt, 0)

    @property
    def passes(self) -> float:
        """Token positions computed so far, in units of the prompt's length."""
        return self._computed / len(self.prompt)

    def deleted(self, prompt: Sequence[int]) -> Floats:
        """Return (tokens,) the log-odds of the answer after another prompt; a common beginning is not read again."""
        new = list(prompt)
        limit = min(len(new), len(self.prompt)) - 1
        shared = next((i for i in range(limit) if new[i] != self.prompt[i]), limit)
        return self._read(new, shared)[0]

    def knocked_out(self, hidden: Bools) -> Floats:
        """Return (variants, answer tokens) log-odds with columns of the prompt hidden from the rows.

        hidden: (variants, prompt tokens). The row of the last prompt token always sees itself.
        """
        if "position_ids" not in inspect.signature(self.chat.module.forward).parameters:
            raise self._unsupported("no position ids")
        count = len(self.answer)
        groups = max(1, min(CELLS // (count * self._config.vocab_size), int((CELLS / 2) ** 0.5) // count))
        groups = max(1, min(groups, CELLS // (count * (len(self.prompt) + groups * count))) - 1)
        parts = [self._rows(hidden[start : start + groups]) for start in range(0, len(hidden), groups)]
        return np.concatenate(parts)

    @property
    def _config(self) -> Any:
        config: Any = self.chat.module.config
        return config.get_text_config()

    def _read(self, prompt: list[int], shared: int) -> tuple[Floats, list[tuple[Tensor, Tensor]]]:
        """Read a prompt (its first `shared` tokens from the cache) and the answer."""
        self.chat.refuse_too_long(len(prompt), len(self.answer))
        ids = torch.tensor([[*prompt[shared:], *self.answer[:-1]]], device=self.chat.device)
        total = shared + ids.shape[1]
        prefix = [(keys[:, :, :shared], values[:, :, :shared]) for keys, values in self._layers] if shared else []
        try:
            out = self._call(
                input_ids=ids,
                attention_mask=torch.ones((1, total), dtype=torch.long, device=self.chat.device),
                position_ids=torch.arange(shared, total, device=self.chat.device)[None],
                past_key_values=cache_of(prefix, 1),
                logits_to_keep=len(self.answer),
            )
        except (IndexError, AttributeError) as problem:  # of caches with other layers than attention
            raise self._unsupported(str(problem)) from problem
        layers = cache_layers(getattr(out, "past_key_values", None))
        if layers is None or any(keys.shape[2] != total for keys, _ in layers):
            raise self._unsupported("a cache that drops or compresses positions")
        end = len(prompt) - 1
        logits = out.logits[0, -len(self.answer) :]
        log_odds = token_log_odds(logits, self._targets, subject=self.chat.name)
        return log_odds, [(keys[:, :, :end], values[:, :, :end]) for keys, values in layers]

    def _rows(self, hidden: Bools) -> Floats:
        """Compute the rows of some knock-outs, and once more with nothing hidden, in one call."""
        count, past = len(self.answer), len(self.prompt) - 1
        variants = len(hidden) + 1
        columns = np.zeros((variants, past), np.bool_)
        columns[:-1] = hidden[:, :past]
        ids = torch.tensor([[self.prompt[-1], *self.answer[:-1]] * variants], device=self.chat.device)
        positions = torch.arange(past, past + count, device=self.chat.device).repeat(variants)
        try:
            out = self._call(
                input_ids=ids,
                attention_mask=self._masks(columns, count),
                position_ids=positions[None],
                past_key_values=cache_of(self._layers, 1),
            )
            logits = out.logits[0]
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as problem:
            raise self._unsupported(str(problem).splitlines()[0]) from problem
        log_odds = token_log_odds(logits, self._targets.repeat(variants), subject=self.chat.name)
        table = log_odds.reshape(variants, count)
        error = float(np.max(np.abs(table[-1] - self.base) / np.maximum(1.0, np.abs(self.base))))
        half = next(self.chat.module.parameters()).dtype in (torch.float16, torch.bfloat16)
        if not error <= (HALF_TOLERANCE if half else TOLERANCE):
            raise self._unsupported(f"other numbers (difference {error:.2g}) although nothing is hidden")
        return table[:-1]

    def _masks(self, columns: Bools, count: int) -> Any:
        """Return the additive mask of the rows; one for each kind of layer where the model has several."""
        variants, past = columns.shape
        group = np.repeat(np.arange(variants), count)
        step = np.tile(np.arange(count), variants)
        own = (group[:, None] == group[None]) & (step[None] <= step[:, None])
        visible = np.concatenate([~columns[group], own], 1)
        at = np.concatenate([np.arange(past), past + step])
        window = getattr(self._config, "sliding_window", None)
        near = visible & ((past + step[:, None]) - at[None] < window) if window else visible
        kinds = set(getattr(self._config, "layer_types", None) or ())
        full, sliding = self._additive(visible), self._additive(near)
        if kinds <= {"full_attention", "sliding_attention"} and len(kinds) == 2:
            return {"full_attention": full, "sliding_attention": sliding}
        # without a list of layer types, a declared window is the window of every layer (Mistral)
        return sliding if kinds == {"sliding_attention"} or (not kinds and self._windowed()) else full

    def _windowed(self) -> bool:
        declared = bool(getattr(self._config, "sliding_window", None))
        return declared and bool(getattr(self._config, "use_sliding_window", True))

    def _additive(self, visible: Bools) -> Tensor:
        dtype = next(self.chat.module.parameters()).dtype
        mask = torch.zeros(visible.shape, dtype=dtype, device=self.chat.device)
        mask.masked_fill_(~torch.from_numpy(visible).to(self.chat.device), torch.finfo(dtype).min)
        return mask[None, None]

    def _call(self, **arguments: Any) -> Any:
        self._computed += arguments["input_ids"].shape[1]
        with torch.inference_mode():
            return call_accepted(self.chat.module, {**arguments, "use_cache": True})

    def _unsupported(self, reason: str) -> Unsupported:
        return Unsupported(
            f"rows of an answer of {self.chat.name}",
            expected="a decoder that takes position ids, a mask per row and a plain key-value cache",
            got=reason,
        )
