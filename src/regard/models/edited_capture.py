"""One pass with edited attention, and every attention that was used in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from regard.errors import Unsupported
from regard.models.adapter import Captured, TorchModel, own
from regard.models.passes import key_padding
from regard.protocols import Encoded, Model, Target
from regard.records import Answers, Edit
from regard.tap.capture_call import capture_call


def edited_capture(model: Model, encoded: Encoded, target: Target, edits: Sequence[Edit]) -> Captured:
    """The weights that one example was read with under `edits`, and what the model then answers about `target`.

    Sites above an edit show what they do with the changed states: an edit of one layer moves the attention of the next.
    """
    if not isinstance(model, TorchModel):
        raise Unsupported(f"model {model.name}", expected="a live torch model", got=type(model).__name__)
    item = own(encoded)
    with torch.inference_mode():
        tensors, asked = model.tensors([item], [target])
        outputs, taps = capture_call(
            model.module, lambda: model.run(tensors, asked), edits=list(edits), key_padding=key_padding(tensors)
        )
        said = model.row.read(outputs, asked, [target])
    rows = said.distribution
    answers = Answers(
        np.array([0, 1]), said.value.double().cpu().numpy(), said.probability.double().cpu().numpy(),
        None if rows is None else rows.double().cpu().numpy(),
    )  # fmt: skip
    return Captured(taps.sites, taps.rejected, taps.checked, [item.units], answers)
