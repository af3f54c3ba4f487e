"""The protocol of long inputs: an audit with a budget asks less about each example where examples are long.

With more than `LONG` positions in half of the examples one example would cost about 550 passes, most of them for
methods and sizes that no headline question reads. The protocol keeps every quantity of the headline questions, with
fewer draws and shorter searches, so that the budget pays for several times as many examples; other methods wait for the
further stage. It follows from the lengths of the data alone, and its parameters are part of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.audits.default_methods import HEADLINE, default_methods
from regard.audits.options import AuditOptions
from regard.audits.resolve import Subject
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import RegardError
from regard.records import Example, Json, Spec
from regard.registry import build

LONG = 80
"""Positions: the median of the examples beyond which inputs are long."""
LEAVE_ONE_OUT = 24
"""Passes of each leave-one-out that attention is compared with."""
CEILING = 4
"""Units, the heaviest ones, that get all of the weight in turn."""
PERMUTATIONS = 8
SIZES = (1, 3)
"""Numbers of units that are removed or left alone."""
BINS = (0.1,)
"""Share of the units that is removed or left alone to compare methods: the middle one of ERASER's five."""
FURTHER_SHARE = 0.1
"""Of the passes that are left after the pilot: kept back for further methods."""
RIVALS = ("lrp", "integrated_gradients", "leave_one_out")
"""The method that attention is compared with as an explanation: the first one that the model supports."""
LATER = ("agreement",)
"""Metrics that wait for the further stage: no headline question reads them, and they ask a whole leave-one-out."""
PROBES = 4

EXPERIMENTS: Mapping[str, Mapping[str, Json]] = {
    "permutation": {"times": PERMUTATIONS, "most": CEILING},
    "uniform_weights": {"most": CEILING},
    "pointing": {"sizes": [*SIZES], "most": LEAVE_ONE_OUT},
    "top_word": {"most": LEAVE_ONE_OUT},
}
"""Experiment -> its parameters for long inputs; those that share passes agree."""
METRICS: Mapping[str, Json] = {"fractions": [*BINS]}
"""Parameters of the metrics that have them."""


def are_long(subject: Subject, options: AuditOptions) -> bool:
    """Whether the protocol of long inputs applies: by the median length, if there is a budget."""
    lengths = [*subject.lengths.values()]
    return not options.limits.unlimited and bool(lengths) and float(np.median(lengths)) > LONG


def headline_methods(subject: Subject, options: AuditOptions) -> tuple[str, ...]:
    """The explainers of the headline stage of long inputs (attention, the strongest affordable rival, chance), and its
    metrics."""
    candidates = [name for name in RIVALS if options.references is None or name in options.references]
    shortest = sorted(subject.examples, key=lambda example: (subject.lengths[example.id], example.id))[:PROBES]
    rival = next((name for name in candidates if _supported(subject, name, shortest)), RIVALS[-1])
    metrics = [name for name in default_methods("metric", HEADLINE) if name not in LATER]
    return ("attention", rival, "random", *metrics)


def _supported(subject: Subject, name: str, examples: Sequence[Example]) -> bool:
    """Whether the model supports an explainer, tried on the first example that it can read."""
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
