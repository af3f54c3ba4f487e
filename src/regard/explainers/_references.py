"""Rankings to compare attention with, by name."""

from __future__ import annotations

from collections.abc import Sequence

from regard.records import Json

BY_REMOVAL = "leave_one_out"
REFERENCES = ("lrp", "integrated_gradients", "gradient", BY_REMOVAL)
"""Names of the references. Leave-one-out is two rankings, by two operators; `gradient` is |gradient x input|."""
STEPS = 8


def reference_path(baselines: Sequence[str]) -> dict[str, Json]:
    """Parameters of integrated gradients as a reference: few steps, from zeros if the model is sensitive to them.

    A model whose first baseline is random normalizes the loudness of its input, so a path from zeros is uninformative.
    """
    zero = "zero" in baselines and baselines[0] != "resample"
    return {"steps": STEPS, "baseline": "zero" if zero else baselines[0]}
