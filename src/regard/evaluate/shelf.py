"""Which metrics an audit computes: a few that are cheap, or the whole shelf."""

from __future__ import annotations

QUICK = ("comprehensiveness", "sufficiency", "log_odds", "agreement", "entropy")
"""Of the quick profile: what costs few forwards, and shares them."""

ASKED_AGAIN = ("max_sensitivity", "local_lipschitz", "weight_randomisation", "label_randomisation:by=head")
"""Metrics that run the explainer again: a part of the examples is enough to tell."""

WHOLE = (
    *QUICK,
    "aopc",
    "deletion_area",
    "insertion_area",
    "decision_flip",
    "monotonicity",
    "infidelity",
    "completeness_error",
    *(f"agreement:measure={measure}" for measure in ("spearman", "weighted_kendall", "top_k", "rbo")),
    "effective_units",
    "gini",
    *ASKED_AGAIN,
)

PLAUSIBILITY = ("token_f1", "iou_f1", "auprc")
"""Only where the data say which places are decisive."""
