"""A planted model with a short audit behind the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.audits.audit import audit
from regard.models.open.load import load
from regard.protocols import Model
from regard.serve.limits import ServiceLimits
from regard.serve.service import Service, open_service
from regard.store.run import Run


@pytest.fixture(scope="session")
def model() -> Model:
    return load("planted:decides")


@pytest.fixture(scope="session")
def audited_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out: Path = tmp_path_factory.mktemp("served") / "run"
    return audit(
        "planted:decides",
        out=out,
        budget="none",
        limit=12,
        keep=0,
        explainers=["attention", "leave_one_out", "random"],
        metrics=["comprehensiveness", "sufficiency"],
        experiments=["map_shape", "pointing"],
    )


@pytest.fixture(scope="session")
def service(model: Model, audited_run: Run) -> Iterator[Service]:
    service = open_service(model, audited_run, name="planted", limits=ServiceLimits(deadline=120.0))
    yield service
    service.drain()
