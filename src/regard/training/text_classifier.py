"""Recipe: an attention classifier for texts, from words to checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from regard.networks.checkpoint import save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset
from regard.records import Json
from regard.training.batches import TextRows
from regard.training.labels import label_names, numbered
from regard.training.loop import Fitted, Settings, evaluate, fit, seeded
from regard.training.terms import balanced, cross_entropy


def train_text_classifier(
    train: Dataset,
    dev: Dataset,
    test: Dataset,
    out: Path,
    settings: Settings,
    *,
    encoder: str = "bilstm",
    attention: str = "additive",
    size: int = 100,
    hidden: int = 64,
    dropout: float = 0.5,
    word_dropout: float = 0.1,
    min_count: int = 2,
    state: Path | None = None,
) -> dict[str, Json]:
    """Train on the words of `train`, choose the epoch by `dev`, save into `out`; gives the facts of the training.

    Word vectors start at random. `test` is looked at once, at the end.
    """
    names = label_names(train)
    vocabulary = Vocabulary.build((str(e.inputs["text"]) for e in train), min_count=min_count)

    def rows(data: Dataset, hide: float = 0.0) -> TextRows:
        tokens = [vocabulary.encode(str(e.inputs["text"]))[0] for e in data]
        return TextRows(tokens, numbered(data, names), hide)

    learned, held_out = rows(train, word_dropout), rows(dev)
    with seeded(settings.seed, "weights"):
        network = AttentionClassifier(
            words=len(vocabulary),
            classes=len(names),
            encoder=encoder,
            attention=attention,
            size=size,
            hidden=hidden,
            dropout=dropout,
        )
    terms = [cross_entropy(class_weights=balanced(learned.labels, len(names)))]
    fitted = fit(network, learned, held_out, terms, settings, what=f"{encoder} on {train.name}", state=state)
    facts = training_facts(train, settings, fitted, evaluate(network, rows(test))[1])
    save_checkpoint(
        out,
        network,
        labels=names,
        task="classification",
        modality="text",
        facts={"vocabulary": vocabulary.to_json(), "training": facts},
    )
    return facts


def training_facts(train: Dataset, settings: Settings, fitted: Fitted, test_accuracy: float) -> dict[str, Json]:
    """What a checkpoint says about how it came to be."""
    return {
        "data": train.name,
        "data_fingerprint": train.fingerprint,
        "examples": len(train),
        "settings": asdict(settings),
        "epochs": [asdict(epoch) for epoch in fitted.epochs],
        "best_epoch": fitted.best + 1,
        "dev_accuracy": fitted.dev_accuracy,
        "test_accuracy": test_accuracy,
    }
