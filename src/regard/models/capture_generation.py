"""Attention during generation: a text or a sound in, the new tokens and the attention of all their steps out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from regard.cards import Card, HasCard
from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.capture import as_examples
from regard.models.dense_limit import refuse_dense
from regard.models.model_cards import capture_card
from regard.models.open.load import load
from regard.models.read.text import TextReader
from regard.protocols import Model, SiteAttention
from regard.records import Answers, Text, Units
from regard.registry import upstairs
from regard.tap.capture_call import Taps
from regard.tap.row_capture import capture_rows
from regard.tap.row_collector import RowTaps
from regard.tap.stitch_steps import capture_generation as stitched_call


@dataclass(frozen=True, slots=True, repr=False)
class Generated(HasCard):
    """The generated text and its `Capture`.

    made: the new tokens. units: the keys of the attention: prompt and new tokens for a decoder, the source for an
    encoder-decoder. Rows of a causal site are positions in order of computation; the last new token was never read, so
    it has no row.
    """

    text: str
    made: tuple[str, ...]
    sites: Sequence[SiteAttention]
    rejected: Sequence[tuple[str, Text]]
    checked: Text
    units: Sequence[Units]
    answers: Answers

    def _card(self) -> Card:
        return capture_card("Generated", self, "", answer=self.text)

    def show(self, view: str = "", *, lang: str = "en", static: bool = False) -> Any:
        """Draw in a notebook; `.save("page.html")`, `.svg`, `.png` or `.pdf` works anywhere (see `live.show`)."""
        return upstairs("show")(self, view=view, lang=lang, static=static)


def capture_generation(
    model: str | Model, text: Any, *, new_tokens: int = 20, rows: Literal["new"] | None = None
) -> Generated:
    """Every attention of the greedy continuation of `text` by at most `new_tokens` tokens, stitched site by site.

    text: a text, an Example, or an array of samples for a speech recogniser (at its own rate; an Example may name
    another, "rate").

    rows="new": only the rows that predict new tokens, for long prompts; `positions` of a site lists them. Without it,
    weights of more than 4 GiB are refused.
    """
    if rows not in (None, "new"):
        raise InputError(
            "rows", expected='"new"', got=repr(rows), remedy=phrase("errors.models.capture_rows_finished_text")
        )
    if new_tokens < 1:
        raise InputError("new_tokens", expected=phrase("errors.common.at_least"), got=str(new_tokens))
    live = load(model)
    module: Any = getattr(live, "module", None)
    if not isinstance(live, TorchModel) or getattr(live.reader, "spell", None) is None:
        got = (
            phrase("errors.models.one_for_task", task=live.task)
            if isinstance(live, TorchModel)
            else type(live).__name__
        )
        raise Unsupported(
            phrase("errors.common.model_live", live=live.name),
            expected=phrase("errors.models.model_that_writes"),
            got=got,
        )
    if live.traits.write is not None:
        if rows is not None:
            raise Unsupported(
                phrase("errors.common.rows_live", live=live.name),
                expected=phrase("errors.models.model_transformers"),
                got=phrase("errors.models.model_with_own_way_write"),
            )
        return _written(live, text, new_tokens)
    if not getattr(module, "can_generate", lambda: False)():
        raise Unsupported(
            phrase("errors.common.model_live", live=live.name),
            expected=phrase("errors.models.model_that_can_generate"),
            got=type(module).__name__,
        )
    (example,) = as_examples(live, text)
    item = own(live.encode(live.windows(example)[0]))
    tensors, _ = live.tensors([item], None)

    def write() -> torch.Tensor:
        sequences: torch.Tensor = module.generate(**tensors, max_new_tokens=new_tokens, do_sample=False, num_beams=1)
        return sequences

    taps: RowTaps | Taps
    with torch.inference_mode():
        if rows == "new":
            row, taps = capture_rows(module, write, "new")
        else:
            refuse_dense(module, item.length + new_tokens, remedy='rows="new"')
            row, taps = stitched_call(module, write)
    two_parts = bool(module.config.is_encoder_decoder)
    ids = row[0, 1 if two_parts else item.length :].tolist()
    assert isinstance(live.reader, TextReader)
    assert live.reader.spell is not None
    names = tuple(live.reader.spell(ids))
    units = item.units if two_parts else _longer(item.units, names[:-1])
    nothing = Answers(np.array([0, 0]), np.zeros(0), np.zeros(0))
    return Generated(
        text=live.reader.join(ids),
        made=names,
        sites=taps.sites,
        rejected=taps.rejected,
        checked=taps.checked,
        units=(units,),
        answers=nothing,
    )


def _written(live: TorchModel, text: Any, new_tokens: int) -> Generated:
    """Capture the generation of a model with its own decoding loop, by reading its output in one equivalent pass."""
    reader: Any = live.reader
    assert live.traits.write is not None
    (example,) = as_examples(live, text)
    item = own(live.encode(live.windows(example)[0]))
    with torch.inference_mode():
        (ids,) = live.traits.write(live.module, live.tensors([item], None)[0], new_tokens)
    capture = live.capture([item], [list(ids)], mode="weights")
    names = tuple(reader.spell(ids))
    return Generated(
        text=reader.join(ids),
        made=names,
        sites=capture.sites,
        rejected=capture.rejected,
        checked=capture.checked,
        units=(item.units,),
        answers=capture.answers,
    )


def _longer(units: Units, names: Sequence[str]) -> Units:
    """Return the units of the prompt, then the generated tokens; those have no place in the text."""
    n, more = len(units), len(names)
    return Units(
        names=(*units.names, *names),
        kind=units.kind,
        place_kind="span",
        places=np.concatenate([units.places, np.zeros((more, 2))]),
        special=np.concatenate([units.special, np.zeros(more, np.bool_)]),
        groups=np.concatenate([units.groups, np.full(more, -1)]),
        part=np.concatenate([units.part, np.ones(more, np.int64)]),
        keys=np.arange(n + more),
        shape=(n + more,),
    )
