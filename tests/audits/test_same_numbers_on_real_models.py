"""Same example, same numbers, on the embedded models: whatever the batch size and the order.

The objective is a log-odds in float32, whose last place at 10 is already 1e-6, and relevances are differences of such
numbers. So the tolerance is 1e-6 of the size of what is subtracted: the objective of the example plus its largest
relevance, at least 1. Scores, which lie between 0 and 1, agree to 1e-6 as they stand.
"""

from __future__ import annotations

import numpy as np
import pytest

from regard.audits.shard import Settings, ShardResult, compute
from regard.datasets.read import read
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example, Spec

METHODS = {
    "bilstm": ("reviews", ("attention", "input_x_gradient", "integrated_gradients", "leave_one_out")),
    "digits": ("digits", ("attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out")),
    "cancer": ("cancer", ("attention", "integrated_gradients", "leave_one_out")),
}
JUDGES = (Spec("metric", "comprehensiveness"), Spec("metric", "sufficiency"))
TOLERANCE = 1e-6


def asked(model: Model, examples: list[Example], methods: tuple[str, ...], batch: int) -> ShardResult:
    page = compute(model, examples, Settings(tuple(Spec("explainer", m) for m in methods), JUDGES, batch=batch))
    assert not page.problems
    return page


@pytest.mark.real
@pytest.mark.parametrize("name", METHODS)
def test_batch_size_and_order_do_not_matter(name: str) -> None:
    data, methods = METHODS[name]
    model, examples = load(name), list(read(data, limit=8))
    usual = asked(model, examples, methods, 16)
    objective = {str(row["id"]): abs(float(row["value"])) for row in usual.rows}
    worst = 0.0
    for batch, order in ((1, examples), (3, examples[::-1]), (64, examples[4:] + examples[:4])):
        page = asked(model, order, methods, batch)
        for one, other in zip(usual.relevances, page.relevances, strict=True):
            found = dict(zip(other.ids, other, strict=True))
            for key, values in zip(one.ids, one, strict=True):
                size = max(1.0, objective[key] + float(np.abs(values).max()))
                worst = max(worst, float(np.abs(values - found[key]).max()) / size)
        for score, again in zip(usual.scores, page.scores, strict=True):
            by_id = dict(zip(again.ids, again.values, strict=True))
            for key, value in zip(score.ids, score.values, strict=True):
                assert abs(value - by_id[key]) < TOLERANCE
    assert worst < TOLERANCE
