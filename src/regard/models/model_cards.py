"""Cards of models and captures: name, task, labels and attention sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.cards import Card
from regard.protocols import Capture
from regard.records import Example, Json, Message

if TYPE_CHECKING:
    from regard.models.adapter import TorchModel

MOST_TOKENS = 12
SMALL = 5_000_000
"""Maximum weights of a model whose attention a card may capture."""


def model_card(model: TorchModel) -> Card:
    """Name, task, labels, size and attention sites of a model."""
    weights = sum(p.numel() for p in model.module.parameters())
    facts: dict[str, Any] = {
        "task": model.task,
        "modality": model.modality,
        "labels": [*model.labels],
        "sites": _sites(model, weights),
        "weights": f"{weights:,}",
        "device": str(model.device),
    }
    return Card("Model", model.name, facts)


def _sites(model: TorchModel, weights: int) -> Message | int | None:
    """Attention of the model: from its configuration, or from a capture of one word if that costs nothing."""
    config = getattr(model.module, "config", None)
    layers, heads = (getattr(config, name, None) for name in ("num_hidden_layers", "num_attention_heads"))
    if isinstance(layers, int) and isinstance(heads, int):
        return Message.of("card.layers_heads", layers=layers, heads=heads)
    if model.modality != "text" or weights > SMALL:
        return Message("card.at_first_capture")
    return model.once("card.sites", lambda: _captured_sites(model))


def _captured_sites(model: TorchModel) -> int | None:
    try:
        encoded = model.encode(Example("card", {"text": "word"}))
        _, targets = model.predict([encoded])
        return len(model.capture([encoded], targets, check="never").sites)
    except Exception:  # a text of one word is not an input of every model; a card never fails
        return None


def capture_card(kind: str, capture: Capture, model: str, *, answer: str = "") -> Card:
    """The tokens, the prediction and every attention site of a capture."""
    names = [name.strip() for name in capture.units[0].names] if len(capture.units) else []
    tokens = " ".join(names[:MOST_TOKENS]) + (" …" if len(names) > MOST_TOKENS else "")
    rows: list[dict[str, Json]] = [
        {
            "site": held.site.key,
            "kind": held.site.kind,
            "layer": held.site.layer,
            "heads": held.site.heads,
            "queries": held.shape[2],
            "keys": held.shape[3],
        }
        for held in capture.sites
    ]
    facts: dict[str, Any] = {
        "text": tokens,
        "tokens": len(names),
        "answer": answer,
        "inputs": len(capture.units) if len(capture.units) > 1 else None,
        "sites": len(rows),
        "checked": capture.checked,
    }
    return Card(kind, model, facts, rows, len(rows))
