"""Token ids of a text."""

from __future__ import annotations

import numpy as np

from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.protocols import Encoded
from regard.records import Ints


@capability(needs="text")
def token_ids(model: TorchModel, encoded: Encoded) -> Ints:
    """Return (units,) the token ids of an encoded text."""
    return np.asarray(own(encoded).arrays[model.reader.main], np.int64)
