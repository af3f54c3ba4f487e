"""Brief protocol: an audit with a budget spends fewer passes per example if examples are long or passes are slow.

If half of the examples have more than `LONG` positions, one example costs about 550 passes, most of them for methods
and sizes that no headline question needs; with a large model, even a short example can exceed the budget. The protocol
keeps every quantity of the headline questions, with fewer draws, shorter searches and one reference of each kind (a
backward pass, a leave-one-out), so that the budget pays for several times as many examples; other methods wait for the
further stage. The protocol depends only on the lengths of the data, the size of the model and the budget, never on the
clock, and its parameters are part of the run's identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.default_methods import HEADLINE, default_methods
from regard.audits.options import AuditOptions
from regard.audits.resolve import Subject
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError
from regard.explainers._references import BY_REMOVAL, reference_path
from regard.models.ask.flops import flops_per_position
from regard.models.ask.torch_module import torch_module
from regard.records import Example, Json, Spec
from regard.registry import build

LONG = 80
"""Median number of positions above which inputs count as long."""
SLOW = 5e8
"""Operations per pass above which a pass counts as slow: a hundredth of a second on two cores."""
NOMINAL = 4e10
"""Operations per second used to convert a time before any pass is timed: about two cores."""
USUAL_COST = 400
"""Approximate passes per example of the usual protocol."""
ENOUGH = 40
"""Examples that a budget must pay for under the usual protocol if passes are slow."""
LEAVE_ONE_OUT = 16
"""Passes of the leave-one-out that attention is compared with."""
CEILING = 4
"""Number of units, the heaviest ones, that receive all of the weight in turn."""
PERMUTATIONS = 8
SIZES = (1, 3)
"""Numbers of units to remove or to keep."""
BINS = (0.1,)
"""Share of units to remove or keep when comparing methods: the middle one of ERASER's five."""
COMPANIONS = 8
"""Examples available to every shard."""
FURTHER_SHARE = 0.1
"""Share of the passes left after the pilot that is reserved for further methods."""
RIVALS = ("lrp", "integrated_gradients", BY_REMOVAL)
"""Methods to compare attention with as an explanation; the first one that the model supports is used."""
LATER = ("agreement",)
"""Metrics that wait for the further stage: no headline question uses them, and they need a full leave-one-out."""
PROBES = 4

EXPERIMENTS: Mapping[str, Mapping[str, Json]] = {
    "permutation": {"times": PERMUTATIONS, "most": CEILING},
    "uniform_weights": {"most": CEILING},
    "pointing": {"sizes": [*SIZES], "most": LEAVE_ONE_OUT},
    "top_word": {"most": LEAVE_ONE_OUT},
}
"""Experiment -> its parameters; experiments that share passes have equal parameters."""


@dataclass(frozen=True, slots=True)
class BriefProtocol:
    """The parameters of one audit. rival: the explainer that attention is compared with."""

    rival: str
    path: Mapping[str, Json]

    @property
    def headline(self) -> tuple[str, ...]:
        """The explainers of the headline stage (attention, the strongest affordable rival, chance), and its metrics."""
        metrics = [name for name in default_methods("metric", HEADLINE) if name not in LATER]
        return ("attention", self.rival, "random", *metrics)

    def experiment(self, name: str) -> dict[str, Json]:
        """Parameters of the experiment: compare attention with the rival and one leave-one-out, or with two of them."""
        references: list[Json] = [*dict.fromkeys((self.rival, BY_REMOVAL))]
        return {"references": references, "removals": 2 if self.rival == BY_REMOVAL else 1, **EXPERIMENTS.get(name, {})}

    def explainer(self, name: str) -> dict[str, Json]:
        """Give a path-gradient rival the path of the reference, which costs nothing more."""
        return dict(self.path) if name == self.rival == "integrated_gradients" else {}

    @property
    def metric(self) -> dict[str, Json]:
        return {"fractions": [*BINS]}


def brief_protocol(subject: Subject, options: AuditOptions) -> BriefProtocol | None:
    """Return the protocol if inputs are long, or if the budget pays for too few slow passes."""
    lengths = [*subject.lengths.values()]
    if options.limits.unlimited or not lengths:
        return None
    middle = float(np.median(lengths))
    if middle <= LONG and not _too_slow(subject, options, middle):
        return None
    candidates = [name for name in RIVALS if options.references is None or name in options.references]
    shortest = sorted(subject.examples, key=lambda example: (subject.lengths[example.id], example.id))[:PROBES]
    rival = next((name for name in candidates if _supported(subject, name, shortest)), BY_REMOVAL)
    return BriefProtocol(rival, reference_path(subject.model.baselines) if subject.model.baselines else {})


def _too_slow(subject: Subject, options: AuditOptions, positions: float) -> bool:
    """Return whether slow passes leave fewer than `ENOUGH` examples within the budget under the usual protocol."""
    operations = positions * _operations_per_position(subject)
    budget = options.limits
    passes = budget.passes if budget.passes is not None else (budget.seconds or 0.0) * NOMINAL / max(operations, 1.0)
    return operations > SLOW and passes < ENOUGH * USUAL_COST


def _operations_per_position(subject: Subject) -> float:
    """Operations per position; 0 if unknown."""
    return flops_per_position(torch_module(subject.model)) if torch_module.supports(subject.model) else 0.0


def _supported(subject: Subject, name: str, examples: Sequence[Example]) -> bool:
    """Return whether the model supports an explainer, tried on the first readable example."""
    for example in examples:
        desk = Desk(subject.model)
        try:
            if not desk.admit(example).free.any():
                continue
            case = DeskCase(desk, [example])
            case.base()
        except Exception:  # a bad example is reported when its turn comes
            continue
        try:
            build(Spec("explainer", name))(case)
        except RegardError:
            return False
        return True
    return False
