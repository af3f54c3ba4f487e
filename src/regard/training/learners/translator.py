"""`translator`: texts to texts, through attention over the source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from regard.errors import InputError, phrase
from regard.networks.checkpoint import Translator, save_checkpoint
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.scores import ScoreName
from regard.networks.transformer_translator import TransformerTranslator
from regard.protocols import Dataset
from regard.records import Json, Message
from regard.registry import entry, method
from regard.training.learner import Learner
from regard.training.scoring import EXACT_MATCH
from regard.training.translation import RECIPES, WORD_DROPOUT, PairRows, alignment, pair_rows, vocabularies

ROOM = 8
"""Tokens by which a translation may exceed the longest one in training."""


@method("learner", modality="text", task="sequence_to_sequence", network="RecurrentTranslator, TransformerTranslator")
def translator(
    train: Dataset,
    *,
    encoder: Literal["recurrent", "transformer"] = "recurrent",
    attention: ScoreName = "additive",
    size: int = 64,
    layers: int = 2,
    dropout: float = 0.1,
) -> Learner:
    """Translator, recurrent with attention or a Transformer; the label is the target text.

    attention: the score of the recurrent one. layers: of the Transformer. Where the alignment is known, the facts have
    the alignment error rate of the cross-attention; the site is chosen on dev.
    """
    if entry("score", attention).facts["imposed"]:
        raise InputError("attention", expected=phrase("errors.training.score_queries_and_keys"), got=attention)
    source, target = vocabularies(train)
    longest = max(len(target.sentence(str(e.label))) for e in train) + ROOM

    def network() -> Translator:
        if encoder == "transformer":
            return TransformerTranslator(
                source_words=len(source), target_words=len(target), size=size, layers=layers, dropout=dropout
            )
        return RecurrentTranslator(
            source_words=len(source),
            target_words=len(target),
            attention=attention,
            size=size,
            hidden=size,
            dropout=dropout,
        )

    def rows(data: Dataset, learning: bool) -> PairRows:
        return pair_rows(data, source, target, WORD_DROPOUT if learning else 0.0)

    def save(out: Path, trained: Translator, facts: Mapping[str, Json]) -> None:
        words: dict[str, Json] = {
            "source_vocabulary": source.to_json(),
            "target_vocabulary": target.to_json(),
            "longest": longest,
        }
        save_checkpoint(out, trained, labels=(), task="sequence_to_sequence", modality="text", facts={**words, **facts})

    def further(trained: Any, dev: Dataset, test: Dataset) -> dict[str, Json]:
        if any(e.alignment is None for e in (*dev, *test)):
            return {}
        site = alignment(trained, dev, source, target).best
        result = alignment(trained, test, source, target)
        return {
            "alignment": {
                "error_rate": result.error_rate[site],
                "site": site,
                "diagonal": result.diagonal,
                "n": result.sentences,
            }
        }

    if encoder == "recurrent":
        what = Message.of("learner.translator_attention", encoder=encoder, attention=attention)
    else:
        what = Message.of("learner.translator_layers", encoder=encoder, layers=layers)
    return Learner(what, network, rows, save, RECIPES[encoder], measure=EXACT_MATCH, further=further)
