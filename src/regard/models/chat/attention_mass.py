"""The attention that the rows of an answer pay to every column of the prompt."""

from __future__ import annotations

import numpy as np

from regard.errors import Unsupported, phrase
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.decoder_rows import DecoderRows
from regard.records import Floats
from regard.tap.capture_call import capture_call


def attention_mass(rows: AnswerRows) -> Floats:
    """Return (answer tokens, prompt tokens) attention weights, the mean over all layers and heads.

    The rows that predict the answer are computed again from the cache and captured; no other row is. Behind an encoder,
    they are the rows of cross-attention.
    """
    count, width = len(rows.answer), len(rows.prompt)
    nothing = np.zeros((1, width), np.bool_)
    _, taps = capture_call(rows.chat.module, lambda: rows.knocked_out(nothing))
    apart = isinstance(rows, DecoderRows)
    first = len(rows.before) - 1 if isinstance(rows, DecoderRows) else 0
    layers = []
    for site in taps.sites:
        if apart and site.site.kind != "cross":
            continue
        # rows that the call repeats for its own check come last; column `width` - 1 is the first row
        weights = site.rows(0, range(first, first + count))
        if site.shape[3] < (width if apart else width - 1 + count):
            raise Unsupported(
                phrase("errors.common.attention_model", model=rows.chat.name),
                expected=phrase("errors.models.column_for_every_token_prompt"),
                got=phrase("errors.models.columns_in_site", shape=site.shape[3], site=site.site.key),
            )
        layers.append(weights[:, :, :width].mean(0))
    if not layers:
        raise Unsupported(
            phrase("errors.common.attention_model", model=rows.chat.name),
            expected=phrase("errors.models.attention_layers"),
            got=phrase("errors.common.none"),
        )
    table: Floats = np.mean(layers, axis=0, dtype=np.float64)
    return table
