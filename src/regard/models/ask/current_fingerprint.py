"""The fingerprint of a model that may have changed since it was opened."""

from __future__ import annotations

from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability


@capability(needs="model")
def current_fingerprint(model: TorchModel) -> str:
    """Hash the weights again: `fingerprint` caches those of its first call."""
    model.__dict__.pop("fingerprint", None)
    return model.fingerprint


current_fingerprint.register(object, lambda model: str(model.fingerprint))
