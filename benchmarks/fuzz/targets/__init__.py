"""Targets of the fuzzer: one file per kind of input, each with `case(rng, originals, folder) -> Case`."""

from __future__ import annotations

from benchmarks.fuzz.case import Maker
from benchmarks.fuzz.targets import (
    command_lines,
    ledgers,
    model_directories,
    policies,
    readers,
    server_bodies,
    specs,
    templates,
    training_states,
)

TARGETS: dict[str, Maker] = {
    "readers": readers.case,
    "ledgers": ledgers.case,
    "training_states": training_states.case,
    "specs": specs.case,
    "policies": policies.case,
    "templates": templates.case,
    "model_directories": model_directories.case,
    "command_lines": command_lines.case,
    "server_bodies": server_bodies.case,
}
