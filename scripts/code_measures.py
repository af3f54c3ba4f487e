"""Measure the code against the style budgets: names, positional arguments, `fmt: skip`, formatted lines.

python scripts/code_measures.py [--details names|calls|skips|docstrings] [PATH ...]
python scripts/code_measures.py --since f476f33   (lines by package then and now; follows scripts/renames.toml)
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BARE_WORDS = frozenset(
    [
        "found",
        "said",
        "made",
        "given",
        "kept",
        "asked",
        "shown",
        "known",
        "chosen",
        "wanted",
        "told",
        "there",
        "some",
        "mine",
        "seen",
        "drawn",
        "named",
        "held",
        "moved",
        "changed",
        "done",
        "tried",
        "judged",
        "opened",
        "written",
        "marked",
        "taken",
        "heard",
        "refused",
        "gone",
        "used",
        "got",
        "theirs",
        "ours",
    ]
)
"""Participles, pronouns and adverbs that say nothing about the value when they stand alone as a variable."""
SKIP = re.compile(r"#\s*fmt:\s*(skip|off)")
MANY = 6
CLAUSE = re.compile(
    r"(What|Whether|How|Who|Whose|Where|When|Which|Why|Of|If|As|That|They|There|It|Its|This|These|Those|Such|Nobody)\b"
)
"""First words of a docstring that begins with a clause or a pronoun instead of an imperative or a noun phrase."""


@dataclass(frozen=True)
class Place:
    """One finding: its place and text."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def python_files(paths: list[Path]) -> list[Path]:
    """Return every Python file below these paths, sorted."""
    return sorted({f for p in paths for f in (p.rglob("*.py") if p.is_dir() else [p])})


def assigned_names(tree: ast.AST) -> Iterator[ast.Name]:
    """Return the variables that a statement binds, without those of a one-line comprehension."""
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension):
            continue
        yield from _targets(node)


def _targets(node: ast.AST) -> Iterator[ast.Name]:
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr | ast.For | ast.AsyncFor):
        targets = [node.target]
    elif isinstance(node, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner


def bare_names(files: list[Path]) -> tuple[list[Place], int]:
    """Return assigned variables that are a bare word, and the number of all assigned variables."""
    places, total = [], 0
    for path in files:
        for name in assigned_names(ast.parse(path.read_text("utf-8"))):
            total += 1
            if name.id.lstrip("_").lower() in BARE_WORDS:
                places.append(Place(path, name.lineno, name.id))
    return places, total


def long_calls(files: list[Path]) -> tuple[list[Place], int]:
    """Return calls with six or more positional arguments, and the number of all calls."""
    places, total = [], 0
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                total += 1
                if len(node.args) >= MANY:
                    places.append(Place(path, node.lineno, f"{ast.unparse(node.func)}: {len(node.args)} arguments"))
    return places, total


def clause_docstrings(files: list[Path]) -> tuple[list[Place], int]:
    """Return docstrings that begin with a clause or a pronoun, and the number of all; questions may."""
    places, total = [], 0
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                total += bool(text)
                if CLAUSE.match(text) and not text.partition("\n")[0].endswith("?"):
                    places.append(Place(path, getattr(node, "lineno", 1), text.partition("\n")[0]))
    return places, total


def format_skips(files: list[Path]) -> list[Place]:
    """Return lines that switch the formatter off."""
    return [
        Place(path, number, line.strip())
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if SKIP.search(line)
    ]


def formatted_lines(files: list[Path]) -> int:
    """Return the number of lines after formatting everything, `fmt: skip` included."""
    total = 0
    for path in files:
        text = path.read_text("utf-8")
        if SKIP.search(text):
            text = re.sub(r"[ \t]*#\s*fmt:\s*(skip|off|on)[^\n]*", "", text)
            command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", path.name, "-"]
            text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        total += text.count("\n")
    return total


def lines_since(revision: str, root: Path = ROOT) -> list[tuple[str, int, int, int]]:
    """Return (package, lines at the revision, lines of the same files now, lines of new files), all formatted.

    A file is the same if it has its old path, or the one that `renames.toml` gives it. The lines of deleted files
    count at the revision only.
    """
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision, "src"], cwd=root, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        before = {path: formatted_lines([path]) for path in python_files([Path(folder) / "src/regard"])}
        then = {str(path.relative_to(Path(folder) / "src/regard"))[:-3]: lines for path, lines in before.items()}
    files = python_files([root / "src/regard"])
    now = {str(path.relative_to(root / "src/regard"))[:-3]: formatted_lines([path]) for path in files}
    table = tomllib.loads((root / "scripts/renames.toml").read_text("utf-8"))["modules"]
    homes = {old: old if old in now else _new_home(old, table) for old in then}
    counts: dict[str, list[int]] = {}
    for old, home in homes.items():
        counts.setdefault(_package(home), [0, 0, 0])[0] += then[old]
    followed = set(homes.values())
    for home, lines in now.items():
        counts.setdefault(_package(home), [0, 0, 0])[1 if home in followed else 2] += lines
    return [(package, *numbers) for package, numbers in sorted(counts.items())]  # type: ignore[misc]


def _new_home(module: str, table: dict[str, str]) -> str:
    """Return the path of a module by the longest entry of the table that it is, or lies in."""
    for old in sorted(table, key=len, reverse=True):
        if module == old or module.startswith(f"{old}/"):
            return table[old] + module.removeprefix(old)
    return module


def _package(module: str) -> str:
    return module.partition("/")[0] if "/" in module else "."


def main() -> int:
    """Print every measure for the given paths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("src")])
    parser.add_argument("--details", choices=("names", "calls", "skips", "docstrings"))
    parser.add_argument("--since", metavar="REVISION")
    options = parser.parse_args()
    if options.since is not None:
        rows = lines_since(options.since)
        total = ("all", sum(r[1] for r in rows), sum(r[2] for r in rows), sum(r[3] for r in rows))
        print(f"{'package':14}{'then':>8}{'now':>8}{'new files':>11}")
        for package, then, same, new in [*rows, total]:
            print(f"{package:14}{then:8}{same:8}{new:11}")
        return 0
    files = python_files(options.paths)
    names, assigned = bare_names(files)
    calls, all_calls = long_calls(files)
    skips = format_skips(files)
    print(f"files {len(files)}, formatted lines {formatted_lines(files)}")
    print(f"bare names {len(names)} of {assigned} ({100 * len(names) / max(1, assigned):.2f} %)")
    print(f"long calls {len(calls)} of {all_calls} ({1000 * len(calls) / max(1, all_calls):.2f} per 1,000)")
    clauses, documented = clause_docstrings(files)
    print(f"fmt: skip {len(skips)}")
    print(f"docstrings that begin with a clause {len(clauses)} of {documented}")
    details = {"names": names, "calls": calls, "skips": skips, "docstrings": clauses}
    for place in details.get(options.details, []):
        print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
