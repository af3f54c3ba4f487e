"""Units outside the vocabulary of a model."""

from __future__ import annotations

from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.protocols import Encoded


@capability(needs="text")
def unknown_units(model: TorchModel, encoded: Encoded) -> int:
    """Count the units outside the vocabulary; 0 without a vocabulary (images, series, rows)."""
    return model.reader.unknown(own(encoded))


unknown_units.register(object, lambda model, encoded: 0)
