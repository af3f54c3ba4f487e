"""One local Ray cluster for every test of the engine: it takes seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.errors import EnvironmentProblem


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A cluster that `--engine ray` finds connected; its workers can import the modules of the tests."""
    from regard.audits.engines.ray import RayActors

    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "shared")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")]))
        connection = RayActors(workers=2)._connected()
        try:
            connection.__enter__()
        except (
            EnvironmentProblem
        ) as problem:  # Ray waits half a minute for its own services, and cannot be told to wait
            pytest.skip(f"hardware: this machine is too busy to start Ray ({str(problem.got)[:60]})")
        yield
        connection.__exit__(None, None, None)
