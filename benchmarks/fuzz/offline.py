"""An audit inside a network namespace without interfaces, where every network access fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.fuzz.contents import audit_contents
from benchmarks.fuzz.materials import AUDIT, Materials
from benchmarks.fuzz.pool import environment

LOOK = "import socket, sys; up = [n for _, n in socket.if_nameindex() if n != 'lo']; sys.exit(bool(up))"


def figures(originals: Path, folder: Path) -> dict[str, Any]:
    """Check that the audit succeeds and its tables equal those of an audit with a network."""
    inside = _inside()
    if not inside:
        return {"met": False, "problem": "no way to enter a network namespace (unshare -n) on this machine"}
    folder.mkdir(parents=True, exist_ok=True)
    made = Materials(originals)
    words = ["audit", str(made.network), "--data", str(made.csv), *AUDIT, "--out", str(folder / "run")]
    # not even the variable that keeps the hub quiet: regard itself must not ask
    surroundings = environment()
    surroundings.pop("HF_HUB_OFFLINE")
    done = subprocess.run(
        [*inside, sys.executable, "-m", "regard", *words], env=surroundings, capture_output=True, text=True, cwd=folder
    )
    same = done.returncode == 0 and audit_contents(folder / "run").parts == audit_contents(made.run).parts
    error = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return {
        "met": done.returncode == 0 and same,
        "command": " ".join(inside),
        "exit_code": done.returncode,
        "same_tables_as_with_a_network": same,
        "error": " ".join(error)[:300],
    }


def _inside() -> list[str]:
    """Return the first command that creates a namespace without interfaces; empty without one."""
    if shutil.which("unshare") is None:
        return []
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if subprocess.run([*command, sys.executable, "-c", LOOK], capture_output=True).returncode == 0:
            return command
    return []
