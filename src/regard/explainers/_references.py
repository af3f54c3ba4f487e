"""The rankings that attention is compared with, by name."""

from __future__ import annotations

from collections.abc import Sequence

from regard.records import Json

BY_REMOVAL = "leave_one_out"
REFERENCES = ("lrp", "integrated_gradients", "gradient", BY_REMOVAL)
"""Leave-one-out stands for two rankings, one for each of two operators; `gradient` is |gradient x input|."""
STEPS = 8


def reference_path(baselines: Sequence[str]) -> dict[str, Json]:
    """Parameters of integrated gradients as a reference: few steps, from zeros where the model can tell them.

    A model whose first baseline is drawn at random evens out how loud its input is: a path from zeros tells nothing.
    """
    zero = "zero" in baselines and baselines[0] != "resample"
    return {"steps": STEPS, "baseline": "zero" if zero else baselines[0]}
