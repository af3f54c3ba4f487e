"""The log-odds of an answer's tokens while parts of the prompt are hidden or deleted, from one cached pass.

The rows that predict an answer of T tokens are the last token of the prompt and all answer tokens but the last. One
plain pass over prompt and answer gives their log-odds and the keys and values of the prompt. *Row knock-out* computes
these T rows again with some prompt columns hidden from them. The rows of many knock-outs stand side by side in one
call (position ids and a mask keep them apart), so no keys are copied. The first call repeats a few rows with nothing
hidden; they must equal the plain pass, or the model is refused. *Deletion* reads another prompt, from its first
different token on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, Text, Unsupported, phrase
from regard.models.ask.chat_model import ChatModel
from regard.models.ask.prefix_sharing import cache_layers, cache_of, call_accepted
from regard.models.chat.log_odds import differentiable_log_odds, token_log_odds
from regard.records import Bools, Floats, Ints

CELLS = 1 << 26
"""Maximum entries of the mask, and of the logits, in one call."""
REMEMBERED = 1024
"""Positions of other prompts whose keys and values are cached; the shortest and the last may exceed it."""
REPEATED = 8
"""Rows that the first call repeats with nothing hidden."""
TOLERANCE = 1e-3
HALF_TOLERANCE = 0.25
"""Maximum difference between the plain pass and the repeated rows, in nats, for float32 and for half precision."""


class AnswerRows:
    """Answer questions about one prompt and one answer.

    base: (tokens,) log-odds of the answer's tokens in the plain pass.
    """

    def __init__(self, chat: ChatModel, prompt: Sequence[int], answer: Sequence[int]) -> None:
        if len(prompt) < 2 or not answer:
            raise InputError(
                "answer",
                expected=phrase("errors.models.prompt_and_answer_with_tokens"),
                got=phrase("errors.models.too_few_tokens"),
            )
        chat.refuse_too_long(len(prompt), len(answer))
        self.chat, self.prompt, self.answer = chat, list(prompt), list(answer)
        self._targets = torch.tensor(self.answer, device=chat.device)
        self._computed = 0
        self._proved = False
        self._layers: list[tuple[Tensor, Tensor]] = []
        self._remembered: list[tuple[list[int], list[tuple[Tensor, Tensor]]]] = []
        with torch.no_grad():  # not inference_mode: gradients are taken through the cached values
            self.base, self._written = self._read(self.prompt, 0)
        self._layers = beginning(self._written, len(self.prompt) - 1)

    @property
    def passes(self) -> float:
        """Return the token positions computed so far, in units of the prompt's length."""
        return self._computed / len(self.prompt)

    def charge(self, positions: int) -> None:
        """Count positions that were computed outside, such as those of a backward pass."""
        self._computed += positions

    @torch.no_grad()
    def deleted(self, prompt: Sequence[int], part: Sequence[int] | None = None) -> Floats:
        """Return (tokens,) the log-odds of the answer after another prompt; a common beginning is not read again.

        part: indices of the answer tokens to read, directly after the prompt; None: all of them. Prompts are
        cached, so that another part after the same prompt costs its own tokens only: the shortest, the last one that is
        short or was read with a part, and others up to `REMEMBERED` positions.
        """
        new = list(prompt)
        if not new:
            expected = phrase("errors.models.prompt_with_other_text")
            raise InputError("prompt", expected=expected, got=phrase("errors.models.no_token_without_sources"))
        shared, layers = self._beginning(new)
        log_odds, read = self._read(new, shared, part, layers)
        short = part is not None or 3 * len(new) <= 2 * len(self.prompt) or len(new) <= REMEMBERED // 4
        if short and new != self.prompt and all(new != other for other, _ in self._remembered):
            self._remember(new, beginning(read, len(new) - 1))
        return log_odds

    def _remember(self, prompt: list[int], layers: list[tuple[Tensor, Tensor]]) -> None:
        """Cache a prompt; evict the oldest ones, but not the shortest."""
        prompts = [*self._remembered, (prompt, layers)]
        shortest = min(prompts, key=lambda pair: len(pair[0]))
        others = [pair for pair in prompts if pair is not shortest]
        while len(others) > 1 and len(shortest[0]) + sum(len(other) for other, _ in others) > REMEMBERED:
            others.pop(0)
        self._remembered = [shortest, *others]

    def cost(self, prompt: Sequence[int], part: Sequence[int] | None = None) -> float:
        """Return the cost of `deleted` in passes."""
        count = len(self.answer) if part is None else len(part)
        return (len(prompt) - self._beginning(list(prompt))[0] + count - 1) / len(self.prompt)

    def row_cost(self, variants: int) -> float:
        """Return the cost of `knocked_out` for this many variants, in passes."""
        repeated = 0 if self._proved else min(REPEATED, len(self.answer))
        return (variants * len(self.answer) + repeated) / len(self.prompt)

    def forgotten_cost(self, tokens: Bools) -> float:
        """Return the cost of `forgotten` in passes."""
        return (len(self.answer) - 1 - int(np.flatnonzero(tokens)[-1])) / len(self.prompt)

    def _beginning(self, prompt: list[int]) -> tuple[int, list[tuple[Tensor, Tensor]]]:
        """Return the length of the longest cached prefix, and its keys and values."""

        def shared(other: Sequence[int]) -> int:
            limit = max(0, min(len(prompt), len(other)) - 1)
            return next((i for i in range(limit) if prompt[i] != other[i]), limit)

        return max(
            ((shared(other), layers) for other, layers in [(self.prompt, self._layers), *self._remembered]),
            key=lambda pair: pair[0],
        )

    @torch.no_grad()
    def knocked_out(self, hidden: Bools, earlier: Bools | None = None) -> Floats:
        """Return (variants, answer tokens) log-odds with columns hidden from the rows.

        hidden: (variants, prompt tokens). earlier: (variants, answer tokens), hidden from the rows that predict later
        tokens. Every row sees itself.
        """
        self._refuse_without_positions()
        count = len(self.answer)
        groups = max(1, min(CELLS // (count * self._config.vocab_size), int((CELLS / 2) ** 0.5) // count))
        groups = max(1, min(groups, CELLS // (count * (len(self.prompt) + groups * count))) - 1)
        written = np.zeros((len(hidden), count), np.bool_) if earlier is None else earlier
        starts = range(0, len(hidden), groups)
        return np.concatenate([self._rows(hidden[a : a + groups], written[a : a + groups]) for a in starts])

    @torch.no_grad()
    def forgotten(self, tokens: Bools) -> Floats:
        """Return (tokens,) log-odds with some tokens of the answer hidden from the rows after the last of them.

        The same as `knocked_out` with these tokens as `earlier`, but the rows before are not computed again.
        """
        if not self._proved:
            self.knocked_out(np.zeros((1, len(self.prompt)), np.bool_))
        count, past = len(self.answer), len(self.prompt) - 1
        start = int(np.flatnonzero(tokens)[-1]) + 1
        log_odds = self.base.copy()
        if start < count:
            own = np.tril(np.ones((count, count), np.bool_)) & ~later_rows(tokens[None])[0]
            visible = np.concatenate([np.ones((count - start, past), np.bool_), own[start:]], 1)
            steps = np.arange(start, count)
            logits = self._computed_rows(
                self.answer[start - 1 : count - 1],
                past + steps,
                self._layer_masks(visible, past + steps, np.arange(past + count)),
                beginning(self._written, past + start),
            )
            log_odds[start:] = token_log_odds(logits, self._targets[start:], subject=self.chat.name)
        return log_odds

    def differentiable(self, owners: Ints, *, by: str) -> tuple[Tensor, Tensor]:
        """Compute the rows with gradients; return (spans,) log-odds, and the tensor to differentiate them by.

        owners: (tokens,) the span of every answer token, -1 for none. by: "values", a factor of every cached value,
        (columns,); or "mask", a term added to every attention score, (rows, columns + rows). Columns are those of the
        prompt but its last token. All layers and heads share the tensor, so its gradient is a sum over them.
        """
        self._refuse_without_positions()
        count, past = len(self.answer), len(self.prompt) - 1
        kind: dict[str, Any] = {"dtype": self._layers[0][1].dtype, "device": self.chat.device}
        nothing = np.zeros((1, past + count), np.bool_)
        mask, layers = self._masks(nothing[:, :past], nothing[:, past:], count), self._layers
        with torch.enable_grad():
            if by == "values":
                tensor = torch.ones(past, **kind, requires_grad=True)
                layers = [(keys, values * tensor[:, None]) for keys, values in layers]
            else:
                tensor = torch.zeros((count, past + count), **kind, requires_grad=True)
                mask = {name: m + tensor for name, m in mask.items()} if isinstance(mask, dict) else mask + tensor
            logits = self._row_logits(mask, layers, count)
            scored = torch.from_numpy(np.flatnonzero(owners >= 0)).to(self.chat.device)
            places = torch.from_numpy(owners[owners >= 0]).to(self.chat.device)
            log_odds, _ = differentiable_log_odds(logits[scored], self._targets[scored], places, int(owners.max()) + 1)
        self._refuse_other_numbers(token_log_odds(logits.detach(), self._targets, subject=self.chat.name))
        return log_odds, tensor

    @property
    def _config(self) -> Any:
        config: Any = self.chat.module.config
        return config.get_text_config()

    def _read(
        self,
        prompt: list[int],
        shared: int,
        part: Sequence[int] | None = None,
        known: Sequence[tuple[Tensor, Tensor]] = (),
    ) -> tuple[Floats, list[tuple[Tensor, Tensor]]]:
        """Read a prompt (its first `shared` tokens from the cache `known`) and the answer, or a part of it."""
        at = list(range(len(self.answer)) if part is None else part)
        answer, targets = [self.answer[i] for i in at], self._targets[at]
        self.chat.refuse_too_long(len(prompt), len(answer))
        ids = torch.tensor([[*prompt[shared:], *answer[:-1]]], device=self.chat.device)
        total = shared + ids.shape[1]
        prefix = beginning(known, shared) if shared else []
        try:
            out = self._call(
                input_ids=ids,
                attention_mask=torch.ones((1, total), dtype=torch.long, device=self.chat.device),
                position_ids=torch.arange(shared, total, device=self.chat.device)[None],
                past_key_values=cache_of(prefix, 1),
                logits_to_keep=len(answer),
            )
        except (IndexError, AttributeError) as problem:  # of caches with other layers than attention
            raise self._unsupported(str(problem)) from problem
        layers = cache_layers(getattr(out, "past_key_values", None))
        if layers is None or any(keys.shape[2] != total for keys, _ in layers):
            raise self._unsupported(phrase("errors.models.cache_that_drops_or_compresses"))
        logits = out.logits[0, -len(answer) :]
        return token_log_odds(logits, targets, subject=self.chat.name), layers

    def _rows(self, hidden: Bools, earlier: Bools) -> Floats:
        """Compute the rows of some knock-outs in one call; the first call repeats some rows with nothing hidden."""
        count, past = len(self.answer), len(self.prompt) - 1
        variants = len(hidden) + 1
        columns = np.zeros((variants, past), np.bool_)
        columns[:-1] = hidden[:, :past]
        written = np.concatenate([earlier, np.zeros((1, count), np.bool_)])
        size = len(hidden) * count
        length = size if self._proved else size + min(REPEATED, count)
        logits = self._row_logits(self._masks(columns, written, length), self._layers, length)
        log_odds = token_log_odds(logits, self._targets.repeat(variants)[:length], subject=self.chat.name)
        if not self._proved:
            self._refuse_other_numbers(log_odds[size:])
        return log_odds[:size].reshape(len(hidden), count)

    def _row_logits(self, mask: Any, layers: Sequence[tuple[Tensor, Tensor]], length: int) -> Tensor:
        """Compute the rows that predict the answer from cached keys and values: side by side, until `length` rows."""
        count, past = len(self.answer), len(self.prompt) - 1
        steps = np.arange(length) % count
        inputs = [self.prompt[-1], *self.answer[:-1]]
        return self._computed_rows([inputs[i] for i in steps], past + steps, mask, layers)

    def _computed_rows(
        self, tokens: Sequence[int], positions: Ints, mask: Any, layers: Sequence[tuple[Tensor, Tensor]]
    ) -> Tensor:
        """Read tokens at some positions after cached keys and values."""
        try:
            out = self._call(
                input_ids=torch.tensor([list(tokens)], device=self.chat.device),
                attention_mask=mask,
                position_ids=torch.from_numpy(positions).to(self.chat.device)[None],
                past_key_values=cache_of(layers, 1),
            )
            logits: Tensor = out.logits[0]
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as problem:
            raise self._unsupported(str(problem).splitlines()[0]) from problem
        return logits

    def _refuse_other_numbers(self, log_odds: Floats) -> None:
        """Refuse the model if its first rows, with nothing hidden, do not repeat the plain pass."""
        base = self.base[: len(log_odds)]
        if not repeats(self.chat, log_odds, base):
            error = float(np.max(np.abs(log_odds - base)))
            raise self._unsupported(phrase("errors.models.other_numbers_difference_although", error=error))
        self._proved = True

    def _masks(self, columns: Bools, earlier: Bools, length: int) -> Any:
        """Return the additive mask of the first `length` rows."""
        (variants, past), count = columns.shape, earlier.shape[1]
        group = np.repeat(np.arange(variants), count)[:length]
        step = np.tile(np.arange(count), variants)[:length]
        own = (group[:, None] == group[None]) & (step[None] <= step[:, None])
        if earlier.any():
            # the column of answer token j is the row after the one that predicts it
            own &= ~later_rows(earlier)[group[:, None], step[:, None], step[None]]
        visible = np.concatenate([~columns[group], own], 1)
        return self._layer_masks(visible, past + step, np.concatenate([np.arange(past), past + step]))

    def _layer_masks(self, visible: Bools, rows: Ints, columns: Ints) -> Any:
        """Return additive masks; one for each kind of layer where the model has several. rows, columns: positions."""
        window = getattr(self._config, "sliding_window", None)
        near = visible & (rows[:, None] - columns[None] < window) if window else visible
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
        inputs = self.chat.inputs(arguments["input_ids"])
        return call_accepted(self.chat.module, {**arguments, **inputs, "use_cache": True})

    def _refuse_without_positions(self) -> None:
        if "position_ids" not in inspect.signature(self.chat.module.forward).parameters:
            raise self._unsupported(phrase("errors.models.no_position_ids"))

    def _unsupported(self, reason: Text) -> Unsupported:
        return Unsupported(
            phrase("errors.models.rows_answer", chat=self.chat.name),
            expected=phrase("errors.models.decoder_that_takes_position_ids"),
            got=reason,
        )


def beginning(layers: Sequence[tuple[Tensor, Tensor]], end: int) -> list[tuple[Tensor, Tensor]]:
    """Return the keys and values of the first positions."""
    return [(keys[:, :, :end], values[:, :, :end]) for keys, values in layers]


def later_rows(earlier: Bools) -> Bools:
    """(variants, tokens) -> (variants, rows, rows): the columns of the answer that later rows cannot see."""
    count = earlier.shape[1]
    columns = np.roll(earlier, 1, axis=1)
    columns[:, 0] = False
    last = np.where(earlier.any(1), count - 1 - earlier[:, ::-1].argmax(1), count)
    later = np.arange(count)[None] > last[:, None]
    forgotten: Bools = later[:, :, None] & columns[:, None] & ~np.eye(count, dtype=np.bool_)
    return forgotten


def repeats(chat: ChatModel, log_odds: Floats, base: Floats) -> bool:
    """Return whether rows with nothing hidden repeat the plain pass."""
    error = float(np.max(np.abs(log_odds - base) / np.maximum(1.0, np.abs(base))))
    half = next(chat.module.parameters()).dtype in (torch.float16, torch.bfloat16)
    return error <= (HALF_TOLERANCE if half else TOLERANCE)
