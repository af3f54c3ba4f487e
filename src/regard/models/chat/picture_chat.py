"""Vision-language model that reads a prompt with a picture and writes an answer.

A prompt is a list of token ids. A place of the picture is a negative number: -1 - v stands for a patch of version v of
the picture, so prompts with different regions removed differ from their first patch on, and all else (shared
beginnings, row knock-out, cost) follows from the ids as for text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import pick_device
from regard.models.ask.chat_model import ChatModel, position_limit
from regard.models.ask.prefix_sharing import call_accepted
from regard.models.chat.answer_rows import AnswerRows, repeats
from regard.models.chat.conversation import Conversation, plain_text
from regard.models.chat.log_odds import token_log_odds
from regard.models.chat.prompt_reader import PromptReader
from regard.models.chat.regions import (
    Box,
    find_regions,
    inverted_region,
    neutral_colour,
    patch_owners,
    region_name,
    without_regions,
)
from regard.models.chat.sources import Source
from regard.models.image_text import image_token, patch_grid, picture_inputs
from regard.models.open.checkpoints import open_pair
from regard.models.open.load import named_directory
from regard.models.read.pixels import bytes_of_picture
from regard.records import Ints


@dataclass(frozen=True, slots=True)
class PictureChat(ChatModel):
    """A language model that reads a picture. versions: the processor's output for each version of the picture."""

    patch: int = -1
    versions: list[dict[str, Tensor]] = field(default_factory=list)

    def inputs(self, ids: Tensor) -> dict[str, Tensor]:
        """Return the token ids with the model's own token at every patch, and the picture behind them."""
        patches = ids[ids < 0]
        if not len(patches):
            return {"input_ids": ids}
        pictures = self.versions[-1 - int(patches[0])]
        return {
            "input_ids": torch.where(ids < 0, self.patch, ids),
            **{name: tensor.to(self.device) for name, tensor in pictures.items()},
        }


class PictureReader(PromptReader):
    """A prompt with one picture, whole or with regions filled with a neutral colour.

    pair: the module and its processor. sources: see `regions.find_regions`. owners: (tokens,) the region of every token
    that stands for a patch, -1 for others. boxes: of the regions.
    """

    def __init__(
        self,
        pair: tuple[nn.Module, Any],
        prompt: str | Sequence[Any],
        picture: Any,
        *,
        sources: str | Sequence[Any] | None = None,
        prefix: str = "",
        name: str = "",
    ) -> None:
        module, processor = pair
        native: Any = module.eval()
        if not getattr(native, "can_generate", lambda: False)() or not hasattr(processor, "tokenizer"):
            raise Unsupported(
                phrase("errors.common.answers_name", name=type(module).__name__),
                expected=phrase("errors.models.model_that_writes_about_pictures"),
                got=phrase("errors.common.something_else"),
            )
        self.processor, self.prefix = processor, prefix
        self.prompt = _conversation(processor, prompt)
        self.text = self.prompt.fields[0] + prefix
        self.picture: NDArray[np.uint8] = np.ascontiguousarray(
            bytes_of_picture(picture, phrase("errors.models.image"))
        ).astype(np.uint8)
        height, width = self.picture.shape[:2]
        self.boxes: list[Box] = find_regions((height, width), sources)
        self.sources = [Source(region_name(box), ()) for box in self.boxes]
        token = image_token(native.config)
        self.chat = chat = PictureChat(
            name=name or type(module).__name__,
            module=module,
            tokenizer=processor.tokenizer,
            device=next(module.parameters()).device,
            limit=position_limit(native.config, processor.tokenizer),
            patch=-1 if token is None else token,
        )
        self._patch, self._versions = chat.patch, chat.versions
        whole = self._inputs(self.picture)
        self._plain: list[int] = [int(i) for i in whole["input_ids"][0]]
        grid = patch_grid(native.config, whole)
        if self._plain.count(self._patch) != grid[0] * grid[1] or self._plain[-1] == self._patch:
            raise Unsupported(
                phrase("errors.common.answers_name", name=self.chat.name),
                expected=phrase("errors.models.place_in_prompt_for_each", grid=grid[0], grid_2=grid[1]),
                got=phrase("errors.models.places_n", n=self._plain.count(self._patch)),
            )
        self._numbers: dict[frozenset[int], int] = {}
        self.ids = self.without(frozenset())
        self.text_ids = self.chat.tokenize(self.text, special=self.prompt.special)[0]
        self.owners: Ints = self._owners(whole["pixel_values"], grid)

    def without(self, numbers: frozenset[int]) -> list[int]:
        """Return the prompt with some regions filled."""
        if numbers not in self._numbers:
            boxes = [self.boxes[number] for number in numbers]
            tensors = self._inputs(without_regions(self.picture, boxes, neutral_colour(self.processor)))
            names = [name for name in tensors if name not in ("input_ids", "attention_mask")]
            self._numbers[numbers] = len(self._versions)
            self._versions.append(
                {name: tensors[name] for name in names if tensors[name].shape[:2] != tensors["input_ids"].shape}
            )
        version = -1 - self._numbers[numbers]
        return [version if token == self._patch else token for token in self._plain]

    def _inputs(self, picture: NDArray[np.uint8]) -> dict[str, Tensor]:
        return picture_inputs(self.processor, self.text, picture, special=self.prompt.special)

    def _owners(self, pixels: Tensor, grid: tuple[int, int]) -> Ints:
        """Find the region of every patch by changing each region in turn, since the processor resizes and crops."""
        height, width = self.picture.shape[:2]
        changes = []
        for box in [(0, 0, height, width), *self.boxes]:
            other = self._inputs(inverted_region(self.picture, box))["pixel_values"]
            changes.append((other[0] - pixels[0]).abs().sum(0).double().numpy())
        owners = np.full(len(self.ids), -1, np.int64)
        owners[np.asarray(self.ids) < 0] = patch_owners(np.stack(changes[1:]) / np.maximum(changes[0], 1e-9), grid)
        for number, box in enumerate(self.boxes):
            if not (owners == number).any():
                raise InputError(
                    phrase("errors.models.source_number", number=number + 1, source=region_name(box)),
                    expected=phrase("errors.models.region_with_patch", grid=grid[0], grid_2=grid[1]),
                    got=phrase("errors.common.none"),
                )
        return owners


@torch.no_grad()
def refuse_other_positions(chat: ChatModel, rows: AnswerRows) -> None:
    """Refuse a model with its own positions or masks for pictures, whose plain call gives other numbers."""
    ids = torch.tensor([[*rows.prompt, *rows.answer[:-1]]], device=chat.device)
    out = call_accepted(chat.module, {**chat.inputs(ids), "attention_mask": torch.ones_like(ids)})
    rows.charge(ids.shape[1])
    targets = torch.tensor(rows.answer, device=chat.device)
    if not repeats(chat, token_log_odds(out.logits[0, -len(targets) :], targets, subject=chat.name), rows.base):
        raise Unsupported(
            phrase("errors.models.rows_answer", chat=chat.name),
            expected=phrase("errors.models.decoder_that_takes_position_ids"),
            got=phrase("errors.models.positions_of_its_own"),
        )


def processor_pair(model: Any, processor: Any, device: str = "auto") -> tuple[tuple[nn.Module, Any], str]:
    """Return a module with its processor, and its name.

    model: a directory, a source such as `captioner`, or a module.
    """
    if isinstance(model, str | Path):
        pair, name = open_pair(named_directory(str(model))), str(model)
    else:
        pair, name = (model, processor), type(model).__name__
    if not isinstance(pair[0], nn.Module) or pair[1] is None:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.module_with_processor"),
            got=phrase("errors.models.no_processor"),
        )
    return (pair[0].to(pick_device(device)), pair[1]), name


def _conversation(processor: Any, prompt: str | Sequence[Any]) -> Conversation:
    """Return a plain prompt, or messages as the processor's chat template renders them."""
    if isinstance(prompt, str):
        return plain_text(prompt)
    if not getattr(processor, "chat_template", None):
        raise Unsupported(
            phrase("errors.common.messages_for_model", model=type(processor).__name__),
            expected=phrase("errors.models.processor_with_chat_template"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.plain_prompt_prompt_text"),
        )
    try:
        text = str(processor.apply_chat_template(list(prompt), add_generation_prompt=True, tokenize=False))
    except Exception as problem:  # templates are programs of other people
        raise InputError(
            phrase("errors.models.chat_template", name=type(processor).__name__),
            expected=phrase("errors.models.render_these_messages"),
            got=str(problem),
        ) from None
    return Conversation((text,), ("user",), lambda fields: fields[0], special=False)
