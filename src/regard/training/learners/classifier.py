"""`classifier`: texts to classes, through attention over words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from regard.errors import InputError, phrase
from regard.networks.checkpoint import save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.scores import ScoreName
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset
from regard.records import Example, Json, Message
from regard.registry import method
from regard.training.batches import Accompanied, Rows, TextRows
from regard.training.inputs import aspect_names, aspect_numbers, first_text, text_of
from regard.training.labels import check_classes, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings
from regard.training.scoring import ACCURACY, ROC_AREA
from regard.training.word_vectors import word_vectors

MIN_COUNT = 2
"""Minimum occurrences of a word; nothing can be learned about a word seen once, so it becomes <unk>."""


@method("learner", modality="text", task="classification", network="AttentionClassifier")
def classifier(
    train: Dataset,
    *,
    encoder: Literal["bilstm", "cnn", "average", "transformer"] = "bilstm",
    attention: ScoreName = "additive",
    size: int = 100,
    hidden: int = 64,
    dropout: float = 0.5,
    noise: float = 0.1,
    masking: float = 0.0,
    aspects: bool = False,
    min_count: int = MIN_COUNT,
    spread: float = 1.0,
    chosen_by: Literal["accuracy", "roc_area"] = "accuracy",
    decision: Literal["softmax", "sigmoid"] = "softmax",
    vectors: str | None = None,
) -> Learner:
    """Text classifier of the attention-as-explanation debate: encoder, attention over words, decision.

    size: of a word vector (random at the start). noise: the share of words hidden in training. masking: the
    share of the texts of a batch in which any share of the words is hidden, so that masked texts are in distribution.
    attention=frozen: the weights of another model are imposed by example id (--from). aspects: the second text is a
    question about the first, one of a few, and each has a query, and so an attention map, of its own. min_count: rarer
    words are unknown. spread: standard deviation of the word vectors at the start. chosen_by: what decides on dev which
    epoch is kept. decision: one number for each class, or (sigmoid) one for two classes, as Jain & Wallace 2019 had it.
    vectors: a text file with a word and its numbers on each line, from which the words it has start.
    """
    if not 0 <= masking <= 1:
        raise InputError("masking", expected=phrase("errors.training.share_texts"), got=str(masking))
    names = label_names(train)
    check_classes(train, numbered(train, names), names)
    if chosen_by == "roc_area" and len(names) != 2:
        raise InputError("chosen_by roc_area", expected=phrase("errors.common.two_classes"), got=str(len(names)))
    questions = aspect_names(train) if aspects else ()
    read = first_text if aspects else text_of
    vocabulary = Vocabulary.build(map(read, train), min_count=min_count)

    pretrained = word_vectors(vectors, vocabulary.words, size) if vectors else {}

    def network() -> AttentionClassifier:
        model = AttentionClassifier(
            words=len(vocabulary),
            classes=len(names),
            encoder=encoder,
            attention=attention,
            size=size,
            hidden=hidden,
            dropout=dropout,
            aspects=len(questions),
            decision=decision,
        )
        model.embedding.weight.data.mul_(spread)
        for place, vector in pretrained.items():
            model.embedding.weight.data[place] = vector
        return model

    def rows(data: Dataset, learning: bool) -> Rows:
        tokens = [vocabulary.encode(read(e))[0] for e in data]
        texts = TextRows(tokens, numbered(data, names), noise if learning else 0.0, masking if learning else 0.0)
        return Accompanied(texts, {"aspect": aspect_numbers(data, questions)}, "aspect") if questions else texts

    def save(out: Path, trained: AttentionClassifier, facts: Mapping[str, Json]) -> None:
        about: dict[str, Json] = {
            "vocabulary": vocabulary.to_json(),
            **({"aspects": list(questions)} if questions else {}),
            **facts,
        }
        save_checkpoint(out, trained, labels=names, task="classification", modality="text", facts=about)

    def spans(example: Example) -> Sequence[tuple[int, int]]:
        return vocabulary.encode(read(example))[1]

    # which clause is about what is learned late, and then at once: that takes steps, not epochs
    settings = (
        Settings(epochs=15, batch_size=32, rate=5e-3, patience=6)
        if questions
        else Settings(epochs=6, batch_size=128, rate=1e-2, patience=3)
    )
    return Learner(
        Message.of("learner.classifier", encoder=encoder, attention=attention),
        network,
        rows,
        save,
        settings,
        names=names,
        spans=spans,
        imposes=attention == "frozen",
        measure=ROC_AREA if chosen_by == "roc_area" else ACCURACY,
    )
