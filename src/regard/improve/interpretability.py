"""Trustworthiness of a network's attention: its share of the best method's effect, trust per example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import Unsupported, phrase
from regard.experiments.pointing import pointing
from regard.judge.captured_share import gains_of_best
from regard.judge.evidence import Evidence, evidence_of
from regard.judge.example_trust import example_trust
from regard.judge.margins import FOUND
from regard.protocols import Case
from regard.records import Floats, Json

SIZES = (1, 2, 3)


def readability(case: Case) -> dict[str, Floats]:
    """Return `attention_share` and `example_trust`, one value per example, from one removal test of the rankings."""
    evidence = _evidence(case)
    gain, best, _ = gains_of_best(evidence)
    trust = example_trust(evidence)
    columns = {"attention_share": linearised_share(gain, best)}
    if trust is not None:
        columns["example_trust"] = trust.share
    place = {name: i for i, name in enumerate(evidence.ids)}
    order = [place[name] for name in case.ids]
    return {name: values[order] for name, values in columns.items()}


def linearised_share(ours: Floats, best: Floats) -> Floats:
    """Return one value per example whose mean is mean(ours) / mean(best), and whose spread is that of the ratio.

    The delta method: share + (a - share b) / mean(best). NaN throughout where the best method has no effect.

    >>> values = linearised_share(np.array([0.1, 0.3]), np.array([0.4, 0.4]))
    >>> values.round(3).tolist(), round(float(values.mean()), 3)
    ([0.25, 0.75], 0.5)
    >>> linearised_share(np.array([0.1]), np.array([0.0])).tolist()
    [nan]
    """
    defined = np.isfinite(ours) & np.isfinite(best)
    level = float(best[defined].mean()) if defined.any() else 0.0
    if level < FOUND:
        return np.full(len(ours), np.nan)
    share = float(ours[defined].mean()) / level
    return np.where(defined, share + (ours - share * best) / level, np.nan)


def _evidence(case: Case) -> Evidence:
    base = case.base()
    if base.distribution is None:
        raise Unsupported(
            phrase("errors.improve.share_attention_finds"),
            expected=phrase("errors.improve.model_with_classes"),
            got=phrase("errors.common.another_task"),
        )
    rows: list[dict[str, Json]] = [
        {
            "id": name,
            "predicted": target,
            "target": target,
            "probability": float(base.probability[i]),
            "distribution": base.distribution[i].tolist(),
            "cluster": case.examples[i].cluster,
        }
        for i, (name, target) in enumerate(zip(case.ids, _targets(case), strict=True))
    ]
    (evidence,) = evidence_of(rows, pointing(case, sizes=SIZES), labels=case.labels)
    return evidence


def _targets(case: Case) -> Sequence[int]:
    if not all(isinstance(target, int) for target in case.targets):
        raise Unsupported(
            phrase("errors.improve.share_attention_finds"),
            expected=phrase("errors.improve.one_class_per_example"),
            got=phrase("errors.improve.another_target"),
        )
    return [int(str(target)) for target in case.targets]
