"""The Dockerfile, the cluster files and the action parse, and keep to their security rules."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from regard.cli.root import root

ROOT = Path(__file__).resolve().parents[2]
NAMES = "FROM ARG RUN CMD COPY ENV USER WORKDIR EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT"
INSTRUCTIONS = frozenset(NAMES.split())


def dockerfile() -> list[tuple[str, str]]:
    text = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    lines = re.sub(r"\\\n\s*", " ", "\n".join(x for x in text.splitlines() if not x.startswith("#"))).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line.strip()]


def serve_options() -> set[str]:
    command = root.get_command(None, "serve")  # type: ignore[arg-type]
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts}


def test_the_image_runs_as_nobody_with_a_health_check() -> None:
    rows = dockerfile()
    assert {name for name, _ in rows} <= INSTRUCTIONS
    users = [value for name, value in rows if name == "USER"]
    assert users == ["10001:10001"]
    names = [name for name, _ in rows]
    assert names.index("USER") < names.index("ENTRYPOINT")
    check = next(value for name, value in rows if name == "HEALTHCHECK")
    assert "/v2/health/ready" in check
    compile(json.loads(check[check.index("CMD") + 4 :])[2], "health check", "exec")
    words = json.loads(next(v for n, v in rows if n == "ENTRYPOINT")) + json.loads(
        next(v for n, v in rows if n == "CMD")
    )
    assert words[:2] == ["regard", "serve"]
    assert {word for word in words if word.startswith("--")} <= serve_options()


def entries(value: Any, key: str) -> list[dict[str, Any]]:
    """Every entry of the lists under a key of a manifest, at any depth."""
    if isinstance(value, dict):
        own = value.get(key, [])
        return [*own, *(c for k, v in value.items() if k != key for c in entries(v, key))]
    return [c for v in value for c in entries(v, key)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("inference-service.yaml", "InferenceService", "serving.kserve.io/v1beta1"),
        ("ray-cluster.yaml", "RayCluster", "ray.io/v1"),
    ],
)
def test_cluster_files_parse_and_drop_privileges(name: str, kind: str, version: str) -> None:
    manifest = yaml.safe_load((ROOT / "deploy" / name).read_text("utf-8"))
    assert (manifest["kind"], manifest["apiVersion"]) == (kind, version)
    containers = entries(manifest["spec"], "containers")
    assert containers
    volumes = {volume["name"] for volume in entries(manifest["spec"], "volumes")}
    for container in containers:
        rules = container["securityContext"]
        assert rules["allowPrivilegeEscalation"] is False
        assert rules["capabilities"] == {"drop": ["ALL"]}
        for place in container.get("volumeMounts", []):
            assert place["name"] in volumes
    if kind == "RayCluster":  # a worker opens the model by the path that the head has
        assert all("/models" in {place["mountPath"] for place in c["volumeMounts"]} for c in containers)
    if kind == "InferenceService":
        assert "startupProbe" in containers[0]
        assert containers[0]["securityContext"]["readOnlyRootFilesystem"] is True
        assert {word for word in containers[0]["args"] if word.startswith("--")} <= serve_options()


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return loaded


def test_the_action_uses_only_inputs_that_it_declares() -> None:
    steps = action()["runs"]["steps"]
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"\binputs\.([\w-]+)", text)) == set(action()["inputs"])
    for step in steps:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input inside a script would be run as code"
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_the_action_passes_its_inputs_to_the_gate(tmp_path: Path) -> None:
    """The script runs with a stand-in for python that prints its words."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n', "utf-8")
    fake.chmod(0o755)
    script = action()["runs"]["steps"][1]["run"]
    settings = {
        "RUN": "runs/a b",
        "POLICY": "policy.toml",
        "REQUIRE": "share>=70%\npoints=yes",
        "BASELINE": "",
        "INCONCLUSIVE": "fail",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    environment = {**os.environ, **settings, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.run(["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True)
    words = process.stdout.splitlines()
    assert process.returncode == 3
    assert (tmp_path / "output").read_text("utf-8") == "exit-code=3\n"
    assert words[:4] == ["-m", "regard", "gate", "runs/a b"]
    assert shlex.join(words[-4:]) == shlex.join(["--require", "share>=70%", "--require", "points=yes"])
    options = {word for word in words if word.startswith("--")}
    assert options <= set(re.findall(r"--[\w-]+", CliRunner().invoke(root, ["gate", "--help"]).output))
