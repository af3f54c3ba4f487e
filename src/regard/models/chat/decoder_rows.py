"""The log-odds of an answer's tokens behind an encoder, while parts of the prompt are hidden or deleted.

The counterpart of `answer_rows` for encoder-decoder models. One plain pass reads the prompt with the encoder and the
answer with the decoder, and keeps the keys and values of cross-attention. *Row knock-out* runs the decoder again and
hides the encoder's positions of a source from cross-attention: all variants are one batch, and the encoder does not
run. One more variant hides nothing and must repeat the plain pass, or the model is refused. Information that other
encoder positions took from the source stays: only *deletion*, which encodes another prompt from its start, removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, Text, Unsupported, phrase
from regard.models.ask.chat_model import ChatModel
from regard.models.ask.prefix_sharing import cache_layers, cache_of, call_accepted
from regard.models.chat.answer_rows import CELLS, AnswerRows, later_rows, repeats
from regard.models.chat.log_odds import token_log_odds
from regard.records import Bools, Floats, Ints


class DecoderRows(AnswerRows):
    """Answer questions about one prompt and one answer of an encoder-decoder model.

    before: the tokens that the decoder reads before the answer. A position of the encoder and one of the decoder cost
    the same in `passes`.
    """

    def __init__(self, chat: ChatModel, prompt: Sequence[int], answer: Sequence[int], before: Sequence[int]) -> None:
        if not prompt or not answer or not before:
            raise InputError(
                "answer",
                expected=phrase("errors.models.prompt_and_answer_with_tokens"),
                got=phrase("errors.models.too_few_tokens"),
            )
        self.chat, self.prompt, self.answer, self.before = chat, list(prompt), list(answer), list(before)
        chat.refuse_too_long(len(prompt), len(before) + len(answer))
        self._targets = torch.tensor(self.answer, device=chat.device)
        self._computed = 0
        with torch.no_grad():
            self.base, out = self._decoded(self.prompt, None)
        self._encoded: Tensor = out.encoder_last_hidden_state
        cross = getattr(getattr(out, "past_key_values", None), "cross_attention_cache", None)
        self._cross = cache_layers(cross)

    @torch.no_grad()
    def deleted(self, prompt: Sequence[int], part: Sequence[int] | None = None) -> Floats:
        """Return (tokens,) the log-odds of the answer, or of some of its tokens, after another prompt."""
        return self._decoded(list(prompt), part)[0]

    def cost(self, prompt: Sequence[int], part: Sequence[int] | None = None) -> float:
        """Return the cost of `deleted` in passes."""
        count = len(self.answer) if part is None else len(part)
        return (len(prompt) + len(self.before) + count - 1) / len(self.prompt)

    def row_cost(self, variants: int) -> float:
        """Return the cost of `knocked_out` for this many variants, in passes."""
        return (variants + 1) * (len(self.before) + len(self.answer) - 1) / len(self.prompt)

    @torch.no_grad()
    def knocked_out(self, hidden: Bools, earlier: Bools | None = None) -> Floats:
        """Return (variants, answer tokens) log-odds with encoder positions hidden from cross-attention.

        earlier: (variants, answer tokens), hidden from the decoder's rows that predict later tokens.
        """
        if hidden.all(1).any():
            raise self._unsupported(phrase("errors.models.source_with_whole_prompt"))
        native: Any = self.chat.module
        length = len(self.before) + len(self.answer) - 1
        size = max(1, CELLS // (length * max(int(native.config.vocab_size), len(self.prompt))) - 1)
        written = np.zeros((len(hidden), len(self.answer)), np.bool_) if earlier is None else earlier
        parts = [self._batch(hidden[a : a + size], written[a : a + size]) for a in range(0, len(hidden), size)]
        return np.concatenate(parts)

    def forgotten_cost(self, tokens: Bools) -> float:
        """Return the cost of `forgotten` in passes."""
        return self.row_cost(1)

    def forgotten(self, tokens: Bools) -> Floats:
        """Return (tokens,) log-odds with some tokens of the answer hidden from the rows after the last of them."""
        table = self.knocked_out(np.zeros((1, len(self.prompt)), np.bool_), tokens[None])
        return np.asarray(table[0])

    def differentiable(self, owners: Ints, *, by: str) -> tuple[Tensor, Tensor]:
        raise self._unsupported(phrase("errors.models.encoder_without_row_gradients"))

    def _decoded(self, prompt: list[int], part: Sequence[int] | None) -> tuple[Floats, Any]:
        """Encode a prompt, and read the answer, or a part of it, with the decoder."""
        if not prompt:
            expected = phrase("errors.models.prompt_with_task")
            raise InputError("prompt", expected=expected, got=phrase("errors.models.no_token_without_sources"))
        at = list(range(len(self.answer)) if part is None else part)
        answer, targets = [self.answer[i] for i in at], self._targets[at]
        ids = torch.tensor([prompt], device=self.chat.device)
        decoder = torch.tensor([[*self.before, *answer[:-1]]], device=self.chat.device)
        self._computed += ids.shape[1] + decoder.shape[1]
        out = call_accepted(
            self.chat.module,
            {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": decoder, "use_cache": True},
        )
        return token_log_odds(out.logits[0, -len(answer) :], targets, subject=self.chat.name), out

    def _batch(self, hidden: Bools, earlier: Bools) -> Floats:
        """Run the decoder for some knock-outs, and once more with nothing hidden, as one batch."""
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        if self._cross is None:
            raise self._unsupported(phrase("errors.models.cache_without_cross_keys"))
        variants, count = len(hidden) + 1, len(self.answer)
        visible = np.ones((variants, len(self.prompt)), np.int64)
        visible[:-1] = ~hidden
        decoder = torch.tensor([[*self.before, *self.answer[:-1]]], device=self.chat.device)
        self._computed += variants * decoder.shape[1]
        states: Any = self._encoded.expand(variants, -1, -1)
        try:
            out = call_accepted(
                self.chat.module,
                {
                    "encoder_outputs": BaseModelOutput(last_hidden_state=states),
                    "attention_mask": torch.from_numpy(visible).to(self.chat.device),
                    "decoder_input_ids": decoder.expand(variants, -1),
                    "decoder_attention_mask": self._decoder_mask(earlier, variants) if earlier.any() else None,
                    "past_key_values": EncoderDecoderCache(DynamicCache(), cache_of(self._cross, variants)),
                    "use_cache": True,
                },
            )
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError) as problem:
            raise self._unsupported(str(problem).splitlines()[0]) from problem
        logits = out.logits[:, -count:].reshape(variants * count, -1)
        table = token_log_odds(logits, self._targets.repeat(variants), subject=self.chat.name).reshape(variants, count)
        if not repeats(self.chat, table[-1], self.base):
            raise self._unsupported(phrase("errors.models.other_numbers_unhidden"))
        return table[:-1]

    def _decoder_mask(self, earlier: Bools, variants: int) -> Tensor:
        """Return the additive mask of the decoder's self-attention that forgets tokens of the answer."""
        lead, count = len(self.before) - 1, len(self.answer)
        length = lead + count
        blocked = np.triu(np.ones((variants, length, length), np.bool_), 1)
        blocked[:-1, lead:, lead:] |= later_rows(earlier)
        return self._additive(~blocked)[0].transpose(0, 1)

    def _unsupported(self, reason: Text) -> Unsupported:
        return Unsupported(
            phrase("errors.models.rows_answer", chat=self.chat.name),
            expected=phrase("errors.models.encoder_outputs_and_cache"),
            got=reason,
        )


def rows_of(chat: ChatModel, prompt: Sequence[int], answer: Sequence[int], before: Sequence[int] = ()) -> AnswerRows:
    """Run a prompt and an answer. before: decoder input before the answer, for encoder-decoder models."""
    return DecoderRows(chat, prompt, answer, before) if chat.encoder_decoder else AnswerRows(chat, prompt, answer)
