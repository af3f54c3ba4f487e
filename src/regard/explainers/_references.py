"""The rankings that attention is compared with, by name."""

from __future__ import annotations

BY_REMOVAL = "leave_one_out"
REFERENCES = ("lrp", "integrated_gradients", "gradient", BY_REMOVAL)
"""Leave-one-out stands for two rankings, one for each of two operators; `gradient` is |gradient x input|."""
