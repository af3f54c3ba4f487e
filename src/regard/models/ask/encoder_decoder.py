"""Detection of models with an encoder and a decoder."""

from __future__ import annotations

from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability


@capability(needs="model")
def encoder_decoder(model: TorchModel) -> bool:
    """Return whether causal and cross attention belong to a decoder behind an encoder."""
    return model.traits.encoder_decoder


encoder_decoder.register(object, lambda model: False)
