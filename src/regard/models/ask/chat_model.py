"""A language model, causal or encoder-decoder, as something that reads a prompt and writes an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability


@dataclass(frozen=True, slots=True)
class ChatModel:
    """Module and tokenizer of a language model; limit: maximum positions, None for no limit.

    encoder_decoder: the encoder reads the prompt and the decoder writes the answer; each has `limit` positions.
    """

    name: str
    module: nn.Module
    tokenizer: Any
    device: torch.device
    limit: int | None
    encoder_decoder: bool = False

    def refuse_too_long(self, prompt: int, answer: int) -> None:
        """Refuse a prompt and an answer of so many tokens if the model has fewer positions."""
        longest = max(prompt, answer) if self.encoder_decoder else prompt + answer
        if self.limit is not None and longest > self.limit:
            raise InputError(
                phrase("errors.models.prompt_and_answer_for_name", name=self.name),
                expected=phrase("errors.models.at_most_tokens_each", limit=self.limit)
                if self.encoder_decoder
                else phrase("errors.models.at_most_tokens_model_positions", limit=self.limit),
                got=f"{prompt} + {answer}",
                remedy=phrase("errors.models.fewer_or_shorter_sources"),
            )

    def inputs(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the inputs of the module for token ids."""
        return {"input_ids": ids}

    def tokenize(self, text: str, *, special: bool) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the token ids of a text and the characters (start, stop) of every token."""
        encoding = self.tokenizer(
            text, add_special_tokens=special, return_offsets_mapping=True, return_attention_mask=False, verbose=False
        )
        return list(encoding["input_ids"]), [(int(a), int(b)) for a, b in encoding["offset_mapping"]]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, special ones included."""
        text = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(text)

    def generate(self, prompt: Sequence[int], new_tokens: int) -> list[int]:
        """Return the greedy continuation of a prompt, without the end token."""
        native: Any = self.module
        ends = native.generation_config.eos_token_id
        ends = {*(ends if isinstance(ends, list) else [ends]), *self.tokenizer.all_special_ids} - {None}
        tokens = self.greedy(prompt, new_tokens, pad_token_id=min(ends, default=0))[len(prompt) :]
        return tokens[: next((i for i, token in enumerate(tokens) if token in ends), len(tokens))]

    def greedy(self, prompt: Sequence[int], new_tokens: int, **options: Any) -> list[int]:
        """Return every token of the module's own greedy generation; options go to `generate`."""
        native: Any = self.module
        ids = torch.tensor([list(prompt)], device=self.device)
        with torch.inference_mode():
            # with a mask: without one, transformers hides every prompt token that equals the padding token
            sequence = native.generate(
                **self.inputs(ids),
                attention_mask=torch.ones_like(ids),
                max_new_tokens=new_tokens,
                do_sample=False,
                num_beams=1,
                **options,
            )
        tokens: list[int] = sequence[0].tolist()
        return tokens


@capability(needs="a language model with a fast tokenizer")
def chat_model(model: TorchModel) -> ChatModel:
    """Return the module and tokenizer of a model that predicts the next token, or writes one text after another."""
    tokenizer, apart = model.traits.tokenizer, model.traits.encoder_decoder
    writes = model.task == "next_token" or (apart and model.task == "sequence_to_sequence")
    if not writes or tokenizer is None or not getattr(tokenizer, "is_fast", False):
        got = phrase("errors.models.slow_tokenizer_without_character") if writes and tokenizer else model.task
        raise Unsupported(
            phrase("errors.common.answers_name", name=model.name),
            expected=phrase("errors.models.language_model_with_fast_tokenizer"),
            got=got,
        )
    return ChatModel(
        name=model.name,
        module=model.module,
        tokenizer=tokenizer,
        device=model.device,
        limit=_limit(model),
        encoder_decoder=apart,
    )


def _limit(model: TorchModel) -> int | None:
    """Return the maximum positions of a prompt and its answer; of either, for an encoder-decoder model."""
    if model.traits.encoder_decoder:
        limit: int | None = getattr(model.reader, "limit", None)
        return limit
    return position_limit(model.module.config, model.traits.tokenizer)


def position_limit(config: Any, tokenizer: Any) -> int | None:
    """Return the maximum positions of a decoder, None for no limit."""
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    longest = tokenizer.model_max_length
    return min((n for n in (positions, longest) if isinstance(n, int) and 0 < n < 1_000_000_000), default=None)
