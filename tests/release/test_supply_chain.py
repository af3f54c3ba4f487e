"""The lock file, the bill of materials and the notices agree with what is installed and bundled."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pins(name: str) -> dict[str, str]:
    """Version of every package that a requirements file pins."""
    text = (ROOT / name).read_text("utf-8")
    return {re.sub(r"[-_.]+", "-", n).lower(): v for n, v in re.findall(r"^([\w.-]+)==([^\s\\]+)", text, re.M)}


def sbom_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lock_file_holds_the_versions_of_the_constraints() -> None:
    constraints, lock = pins("constraints.txt"), pins("requirements.lock")
    assert {name: constraints.get(name) for name in lock} == lock
    assert {"numpy", "transformers", "safetensors", "pyarrow", "click", "rich", "starlette", "peft"} <= set(lock)
    assert not {"torch", "regard"} & set(lock), "pip cannot mix these with hashes"


def test_every_extra_for_users_is_locked_and_constrained() -> None:
    """`dev` has no lock: its packages are tools of this repository, pinned by the constraints alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    constraints, lock = pins("constraints.txt"), pins("requirements.lock")
    needed = {extra: {requirement_name(row) for row in rows} for extra, rows in extras.items()}
    needed[""] = {requirement_name(row) for row in project["dependencies"]} - {"torch"}
    missing = {extra: names - set(lock) for extra, names in needed.items() if extra != "dev"}
    assert {extra: names for extra, names in missing.items() if names} == {}, "run scripts/lock.sh"
    assert {name for names in needed.values() for name in names} <= set(constraints)


def requirement_name(row: str) -> str:
    """The package of a requirement, as `pins` writes it."""
    match = re.match(r"[\w.-]+", row)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def test_every_locked_package_has_a_hash() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(pins("requirements.lock"))
    assert [line for line in lines if "--hash=sha256:" not in line] == []


def test_bill_of_materials_names_python_packages_torch_and_the_bundled_front_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = sbom_script()
    # cyclonedx-py is a tool of `make release`; its part is the list of the lock file
    listed = [{"name": name, "version": version} for name, version in pins("requirements.lock").items()]
    bill = {"metadata": {"component": {"name": "regard", "version": "0"}}, "components": listed}
    monkeypatch.setattr(script, "python_components", lambda lock: bill)
    written = json.loads(script.main(tmp_path).read_text("utf-8"))
    named = {component["name"]: component for component in written["components"]}
    assert named["torch"]["version"] == pins("constraints.txt")["torch"]
    for name in ("preact", "@preact/signals", "@preact/signals-core"):
        assert named[name]["licenses"] == [{"license": {"id": "MIT"}}]
        assert len(named[name]["hashes"][0]["content"]) == 128
