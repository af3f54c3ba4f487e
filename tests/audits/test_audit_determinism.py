"""Same example, same numbers: whatever the batch size, the order or the company."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_content import content
from torch_toy import Texts, TorchToy, examples, sentences

from regard.audits.audit import audit
from regard.audits.default_methods import default_methods
from regard.audits.shard import Settings, compute
from regard.records import Spec

EXPLAINERS = default_methods("explainer", "quick")
METRICS = default_methods("metric", "quick", without_family="plausibility")

TEXTS = sentences(12)
SPECS = [Spec("explainer", name) for name in EXPLAINERS]
JUDGES = [Spec("metric", name) for name in METRICS]
SOME: dict[str, Any] = {
    "keep": 3, "metrics": ["comprehensiveness", "agreement", "infidelity"], "experiments": ["permutation", "map_shape"]
}  # fmt: skip


@pytest.fixture(scope="module")
def alone() -> dict[str, dict[str, np.ndarray]]:
    """Every example in a shard of its own, in batches of one."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for example in examples(TEXTS):
        page = compute(TorchToy(), [example], Settings(tuple(SPECS), tuple(JUDGES), batch=1))
        found[example.id] = {r.method: r[0] for r in page.relevances}
        found[example.id] |= {f"{s.metric} of {s.method}": s.values for s in page.scores}
    return found


@given(st.permutations(range(12)), st.integers(1, 20), st.integers(1, 12), st.integers(8, 300))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batch_order_and_company_do_not_matter(
    alone: dict[str, dict[str, np.ndarray]], order: list[int], batch: int, n: int, tokens: int
) -> None:
    everyone = examples(TEXTS)
    page = compute(
        TorchToy(), [everyone[i] for i in order[:n]], Settings(tuple(SPECS), tuple(JUDGES), batch=batch, tokens=tokens)
    )
    assert len(page.relevances) == len(SPECS)
    assert not page.problems
    for relevance in page.relevances:
        for name, values in zip(relevance.ids, relevance, strict=True):
            np.testing.assert_allclose(values, alone[name][relevance.method], atol=1e-6)
    for score in page.scores:
        for name, value in zip(score.ids, score.values, strict=True):
            np.testing.assert_allclose(value, alone[name][f"{score.metric} of {score.method}"][0], atol=1e-6)


def test_the_same_plan_gives_the_same_bits(tmp_path: Path) -> None:
    runs = [audit(TorchToy(), Texts(TEXTS), out=tmp_path / str(i), **SOME) for i in range(2)]
    assert content(runs[0]) == content(runs[1])
    blobs = [sorted(p.name for p in run.path.glob("blobs/*/*")) for run in runs]
    kept = [set(run._artifacts.values()) for run in runs]
    assert kept[0] == kept[1]
    assert kept[0] <= set(blobs[0])


def test_the_seed_matters_to_random_alone(tmp_path: Path) -> None:
    runs = [
        audit(TorchToy(), Texts(TEXTS), out=tmp_path / str(seed), seed=seed, metrics=["agreement"]) for seed in (0, 1)
    ]
    for method in runs[0].methods():
        equal = np.array_equal(runs[0].relevance(method).values, runs[1].relevance(method).values)
        assert equal == (method != "random")
