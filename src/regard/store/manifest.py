"""Manifest of a run as JSON: model, data, versions, seed, every Spec, the command."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.errors import InputError, listing, phrase
from regard.protocols import Dataset, Model
from regard.records import Json, Message, Spec, Text, decoded, encoded
from regard.registry import owner

_HASHES = ("model", "data", "examples")
_HASH = re.compile(r"[0-9a-f]{32,}")
PACKAGES = ("regard", "torch", "transformers", "numpy", "safetensors", "pyarrow")


def versions() -> dict[str, Json]:
    """Collect the versions that the numbers may depend on, without importing the packages."""
    by_package: dict[str, Json] = {"python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            by_package[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            by_package[name] = None
    return by_package


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def broken_model(manifest: Mapping[str, Any]) -> Text:
    """Describe a defect of the model that rules out verdicts; "" for a sound model.

    >>> broken_model({"repeatability": {"repeats": False, "sentence": "It answers by chance."}})
    'It answers by chance.'
    """
    stored = manifest.get("repeatability") or {}
    return "" if stored.get("repeats", True) else decoded(stored.get("sentence") or Message("repeatability.broken"))


def model_facts(model: Model, source: str) -> dict[str, Json]:
    return {
        "name": model.name,
        "source": source,
        "fingerprint": model.fingerprint,
        "task": model.task,
        "labels": list(model.labels),
        "operators": list(model.operators),
        "spec": model.spec.to_json() if model.spec else None,
    }


def data_facts(data: Dataset, source: str, notes: Sequence[Text] = ()) -> dict[str, Json]:
    return {
        "name": data.name,
        "source": source,
        "fingerprint": data.fingerprint,
        "n": len(data),
        "labels": list(data.labels),
        "notes": encoded([*dict.fromkeys([*data.notes, *notes])]),
    }


def identity(
    *, model: Mapping[str, Json], data: Mapping[str, Json], seed: int, specs: Sequence[Spec], **settings: Json
) -> dict[str, Json]:
    """Identity of a run: on one kind of machine, equal identities give byte-equal tables.

    The writer adds the number of torch threads (`RunWriter.settle`), on which the last bit of a sum depends.
    """
    listed: list[Json] = [spec.to_json() for spec in specs]
    plug_ins: list[Json] = [*sorted({owner(spec.kind, spec.name) for spec in specs} - {""})]
    return {
        "model": model["fingerprint"],
        "data": data["fingerprint"],
        "seed": seed,
        "specs": listed,
        "regard": importlib.metadata.version("regard"),
        "plug-ins": plug_ins,
        **settings,
    }


def refuse_other(path: Path, before: Mapping[str, Json], after: Mapping[str, Json]) -> None:
    """Raise an error that names every difference between the stored identity and the new one, if any."""
    differences = [
        phrase("errors.store.was_and_is", name=name, before=_short(before.get(name)), after=_short(after.get(name)))
        for name in sorted({*before, *after}, key=lambda name: (name in _HASHES, name))
        if before.get(name) != after.get(name)
    ]
    if differences:
        remedy = phrase("errors.store.use_another_out_or_repeat")
        expected = phrase("errors.store.audit_that_started_there")
        raise InputError(
            phrase("errors.common.run_run", run=path), expected=expected, got=listing(differences), remedy=remedy
        )


def _short(value: Json) -> str:
    if isinstance(value, list) and all(isinstance(v, dict) and "name" in v for v in value):
        text = "[" + ", ".join(str(Spec.from_json(v)) for v in value if isinstance(v, dict)) + "]"
    else:
        text = "nothing" if value is None else str(value)
        if _HASH.fullmatch(text):
            text = text[:10] + "..."
    return text if len(text) <= 160 else text[:157] + "..."


def command() -> list[Json]:
    """The command line of this process."""
    return [*sys.argv]
