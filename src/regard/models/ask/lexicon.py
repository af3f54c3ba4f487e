"""Input vocabulary of a model: the spelling of each token and its embedding."""

from __future__ import annotations

import numpy as np
import torch

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability
from regard.models.read.text import TextReader
from regard.protocols import Lexicon


@capability(needs="text")
def lexicon(model: TorchModel) -> Lexicon:
    """List every plain token that can be written, with its row of the embedding table (float32, on the CPU)."""
    return model.once("lexicon", lambda: _lexicon(model))


def _lexicon(model: TorchModel) -> Lexicon:
    reader = model.reader
    if not isinstance(reader, TextReader) or reader.pieces is None:
        raise Unsupported(
            phrase("errors.models.vocabulary_model", model=model.name),
            expected=phrase("errors.models.text_model_whose_tokens_can"),
            got=reader.modality
            if not isinstance(reader, TextReader)
            else phrase("errors.models.encode_function_your_own"),
            remedy=phrase("errors.models.use_dictionary_substitutes_source"),
        )
    weight = getattr(model.embedding, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.ndim != 2:
        raise Unsupported(
            phrase("errors.models.vocabulary_model", model=model.name),
            expected=phrase("errors.models.embedding_table"),
            got=type(model.embedding).__name__,
            remedy=phrase("errors.models.use_dictionary_substitutes_source"),
        )
    ids = np.asarray([i for i in reader.alphabet.plain.tolist() if i < len(weight)], np.int64)
    texts, begins = reader.pieces(ids.tolist())
    # a token without letters of its own (a byte of a character, a blank) cannot be written into a word
    spelt = [bool(text) and not any(c.isspace() or c == "\ufffd" for c in text) for text in texts]
    rows = np.flatnonzero(np.array(spelt, np.bool_))
    with torch.no_grad():
        vectors = weight.detach().float().cpu().numpy()[ids[rows]]
    return Lexicon(ids[rows], tuple(texts[i] for i in rows), np.asarray(begins, np.bool_)[rows], vectors)
