"""Capture under edits: one pass with edited attention, and every attention in it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.models.adapter import TorchModel, as_answers, own
from regard.models.ask.capability import capability
from regard.models.captured import Captured
from regard.models.passes import key_padding
from regard.protocols import Encoded, Target
from regard.records import Edit
from regard.tap.capture_call import capture_call


@capability(needs="attention")
def edited_capture(model: TorchModel, encoded: Encoded, target: Target, edits: Sequence[Edit]) -> Captured:
    """Capture the weights of one example under `edits`, with the model's answer about `target`.

    Sites above an edit respond to the changed states: an edit of one layer moves the attention of the next.
    """
    item = own(encoded)
    with torch.inference_mode():
        tensors, request = model.tensors([item], [target])
        outputs, taps = capture_call(
            model.module, lambda: model.run(tensors, request), edits=list(edits), key_padding=key_padding(tensors)
        )
        tensor_answers = model.row.read(outputs, request, [target])
    answers = as_answers(1, [([0], tensor_answers)])
    return Captured(taps.sites, taps.rejected, taps.checked, [item.units], answers)
