"""Write the CycloneDX bill of materials of a release: `python scripts/sbom.py dist`.

cyclonedx-py describes the Python packages of requirements.lock; the npm packages inside the viewer's bundle are added
from its lock file, because they travel inside the wheel.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / "src" / "regard" / "present" / "pack" / "static" / "viewer.js"
_NOTICE = re.compile(r"^(?P<name>@?[\w/.-]+) (?P<version>[\w.-]+) \((?P<licence>[^)]+)\): Copyright", re.M)


def python_components(lock: Path) -> dict[str, Any]:
    """Return the bill of the Python packages from cyclonedx-py."""
    tool = Path(sys.executable).with_name("cyclonedx-py")
    command = [
        str(tool),
        "requirements",
        "--pyproject",
        str(ROOT / "pyproject.toml"),
        "--output-reproducible",
        str(lock),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    bill: dict[str, Any] = json.loads(done.stdout)
    return bill


def torch_component() -> dict[str, Any]:
    """Return torch, which the lock file omits: its builds differ by machine, so there is a version but no hash."""
    (version,) = re.findall(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
    url = f"pkg:pypi/torch@{version}"
    return {"type": "library", "bom-ref": url, "name": "torch", "version": version, "purl": url}


def bundled_components() -> list[dict[str, Any]]:
    """Return the packages in the bundle's notices, with the hashes of their archives."""
    locked = json.loads((ROOT / "viewer" / "package-lock.json").read_text("utf-8"))["packages"]
    text = BUNDLE.read_text("utf-8")
    return [_component(locked, match) for match in _NOTICE.finditer(text[: text.index("*/")])]


def _component(locked: dict[str, Any], match: re.Match[str]) -> dict[str, Any]:
    name, version = match["name"], match["version"]
    kind, _, digest = locked[f"node_modules/{name}"]["integrity"].partition("-")
    url = f"pkg:npm/{name.replace('@', '%40')}@{version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "purl": url,
        "licenses": [{"license": {"id": match["licence"]}}],
        "hashes": [{"alg": kind.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
    }


def main(folder: Path) -> Path:
    bill = python_components(ROOT / "requirements.lock")
    bill["components"] = [*bill["components"], torch_component(), *bundled_components()]
    about = bill["metadata"]["component"]
    target = folder / f"{about['name']}-{about['version']}.cdx.json"
    target.write_text(json.dumps(bill, indent=1) + "\n", "utf-8")
    return target


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
