"""Reruns of an explainer on noisy examples or on a randomized model."""

from __future__ import annotations

import numpy as np

from regard.desk.changes import Noisy
from regard.desk.questions import Displacement
from regard.errors import InputError, UnknownName, Unsupported, phrase
from regard.protocols import Case
from regard.records import Floats, Relevance


def sampled(case: Case, relevance: Relevance, share: float) -> tuple[Case, Relevance]:
    """Sample a share of the examples, each drawn independently of the caller; share 1 returns the case itself."""
    if not 0 < share <= 1:
        raise InputError("share", expected=phrase("errors.common.more_than_at_most"), got=str(share))
    if share == 1:
        return case, relevance
    sample = [i for i in range(len(case.ids)) if case.rng(i, "asked again").random() < share]
    part = Relevance.of(
        relevance.method, [case.ids[i] for i in sample], [relevance[i] for i in sample], signed=relevance.signed
    )
    return case.subset(sample), part


def again(variant: Case, method: str) -> Relevance:
    """Rerun the method on a variant of the case; raise Unsupported for values without a method."""
    try:
        return variant.relevance(method)
    except UnknownName as error:
        raise Unsupported(
            phrase("errors.common.relevance_by_label", label=method),
            expected=phrase("errors.metrics.explainer_that_regard_can_rerun"),
            got=phrase("errors.metrics.values_without_method"),
            remedy=phrase("errors.metrics.register_regard_new_explainer"),
        ) from error


def noisy_changes(case: Case, relevance: Relevance, noise: float, draws: int) -> tuple[Floats, Floats, Floats]:
    """Return (examples,) relevance norm, and (examples, draws) change of the relevance and of the inputs."""
    if draws < 1 or noise <= 0:
        raise InputError(
            "noise",
            expected=phrase("errors.metrics.more_than_at_least_one"),
            got=phrase("errors.metrics.draws_noise", noise=noise, draws=draws),
        )
    size = np.array([float(np.linalg.norm(row)) for row in relevance])
    change, displacement = np.zeros((len(case.ids), draws)), np.zeros((len(case.ids), draws))
    for draw in range(draws):
        variant = case.variant(Noisy(noise, draw))
        other = again(variant, relevance.method)
        change[:, draw] = [float(np.linalg.norm(a - b)) for a, b in zip(relevance, other, strict=True)]
        displacement[:, draw] = variant.ask([Displacement(name) for name in variant.ids])
    return size, change, displacement
