"""List the modules of an earlier revision that neither import today nor stand in `src/regard/moved_modules.txt`.

    python scripts/moved_modules.py [REVISION]

Files and folders that begin with an underscore are private. Exits with 1 if the table has gaps, or names a module that
does not exist.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src" / "regard" / "moved_modules.txt"
FIRST = "f476f33"
"""The revision before the packages were cut."""


def module_name(path: str) -> str:
    """
    >>> module_name("src/regard/judge/__init__.py"), module_name("src/regard/moved.py")
    ('regard.judge', 'regard.moved')
    """
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def modules_of(revision: str) -> set[str]:
    """Return the public modules of a revision, from git."""
    command = ["git", "ls-tree", "-r", "--name-only", revision, "src/regard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    names = {module_name(path) for path in listed if path.endswith(".py")}
    return {name for name in names if not any(part.startswith("_") for part in name.split("."))}


def modules_here() -> set[str]:
    """Return every module of this tree."""
    return {module_name(str(path.relative_to(ROOT))) for path in (ROOT / "src" / "regard").rglob("*.py")}


def table() -> dict[str, str]:
    """Return old module -> new module, or "-" where there is none."""
    rows = [line.split() for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {old: new for old, new, *_ in rows}


def problems(old: set[str], here: set[str], moved: dict[str, str]) -> list[str]:
    """Return the gaps of the table, its dead ends, and its names that exist again.

    >>> problems({"r.a", "r.b", "r.c"}, {"r.c", "r.d"}, {"r.b": "r.e", "r.c": "r.d"})
    ['r.a: no redirect', 'r.b: redirected to r.e, which does not exist', 'r.c: exists, and is redirected']
    """
    gaps = [f"{name}: no redirect" for name in old - here - set(moved)]
    dead = [f"{a}: redirected to {b}, which does not exist" for a, b in moved.items() if b != "-" and b not in here]
    hidden = [f"{name}: exists, and is redirected" for name in moved if name in here]
    return sorted(gaps + dead + hidden)


def main() -> int:
    revision = sys.argv[1] if len(sys.argv) > 1 else FIRST
    lines = problems(modules_of(revision), modules_here(), table())
    print("\n".join(lines) or f"every public module of {revision} imports, or says where it went")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
