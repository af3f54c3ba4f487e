"""Apply `renames.toml` to a tree: move the files, then rewrite imports, dotted names and paths.

    python scripts/renames.py [--table scripts/renames.toml] [TREE]

A file that is not where the table says it was is left alone, so the script may run twice.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

TEXT = {".py", ".md", ".toml", ".sh", ".mjs", ".ts", ".tsx", ".json", ""}
SKIPPED = {".git", ".venv", "node_modules", ".cache", "results", "uv.lock"}
SOURCE = "src/regard"


def move(tree: Path, old: str, new: str) -> bool:
    """Move a file or folder with git; return False if there is nothing to move."""
    source, target = tree / old, tree / new
    if not source.exists() or target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", old, new], cwd=tree, check=True)
    return True


def move_folder(tree: Path, old: str, new: str) -> None:
    """Move a folder's files into another folder, which may exist."""
    for file in sorted((tree / old).iterdir()) if (tree / old).is_dir() else []:
        if file.is_dir() and file.name != "__pycache__":
            move_folder(tree, f"{old}/{file.name}", f"{new}/{file.name}")
        elif file.is_file():
            move(tree, f"{old}/{file.name}", f"{new}/{file.name}")


def move_modules(tree: Path, modules: dict[str, str]) -> None:
    """Move modules and packages, deepest first; a module whose new package has its own name goes through a detour."""
    for old, new in sorted(modules.items(), key=lambda pair: -pair[0].count("/")):
        if (tree / SOURCE / f"{old}.py").exists():
            move(tree, f"{SOURCE}/{old}.py", f"{SOURCE}/{new}.py")
        elif not new.startswith(f"{old}/"):
            move_folder(tree, f"{SOURCE}/{old}", f"{SOURCE}/{new}")
    for folder in {Path(new).parents[i] for new in modules.values() for i in range(new.count("/"))}:
        if str(folder) != "." and (tree / SOURCE / folder).is_dir():
            (tree / SOURCE / folder / "__init__.py").touch()


def patterns(modules: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    """Return word-bounded patterns for dotted names and for paths, longest first."""
    pairs: list[tuple[re.Pattern[str], str]] = []
    for old, new in sorted(modules.items(), key=lambda pair: -len(pair[0])):
        # not followed by a part that belongs to the new place already, such as present.report.report
        step = new.removeprefix(old) if new.startswith(f"{old}/") else ""
        ahead = rf"(?!{re.escape(step.replace('/', '.'))}\b)" if step else ""
        if step and step.count("/") == 1:  # a module became a package: only names of the old module are rewritten
            nested = {n[len(old) + 1 :].split("/")[0] for n in modules.values() if n.startswith(f"{old}/")}
            inner = "|".join(sorted(nested | {"static"}))
            ahead = rf"(?!\.(?:{inner})\b)"
        pairs.append((re.compile(rf"\bregard\.{re.escape(old.replace('/', '.'))}\b{ahead}"), _dotted(new)))
        pairs.append((re.compile(rf"(?<![\w/])(src/regard/|regard/)?{re.escape(old)}\.py\b"), rf"\g<1>{new}.py"))
    return pairs


def _dotted(new: str) -> str:
    return f"regard.{new.replace('/', '.')}"


def rewrite(text: str, pairs: list[tuple[re.Pattern[str], str]], modules: dict[str, str]) -> str:
    """Return the text with every old name replaced by the new one."""
    for pattern, new in pairs:
        text = pattern.sub(new, text)
    for package in {old.rsplit("/", 1)[0] for old in modules}:
        text = _module_imports(text, package, modules)
    return text


def _module_imports(text: str, package: str, modules: dict[str, str]) -> str:
    """`from regard.evaluate import plan, opening` -> an import from each new package; uses follow a new name."""
    head = re.compile(rf"^([ \t]*)from regard\.{re.escape(package.replace('/', '.'))} import ([\w ,]+)$", re.M)
    renamed: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        lines = []
        for part in match[2].split(","):
            name, _, alias = part.strip().partition(" as ")
            new = modules.get(f"{package}/{name}")
            if new is None or new == f"{package}/{name}":
                lines.append(f"{match[1]}from regard.{package.replace('/', '.')} import {part.strip()}")
                continue
            home, _, stem = new.rpartition("/")
            if not alias and stem != name:
                renamed[name] = stem
            suffix = f" as {alias}" if alias else ""
            lines.append(f"{match[1]}from regard.{home.replace('/', '.')} import {stem}{suffix}")
        return "\n".join(lines)

    text = head.sub(replace, text)
    for name, stem in renamed.items():
        text = re.sub(rf"(?<![\w.\"']){name}(?=\.\w)", stem, text)
    return text


def main() -> int:
    """Apply the table to a tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", nargs="?", type=Path, default=Path())
    parser.add_argument("--table", type=Path, default=Path(__file__).with_name("renames.toml"))
    options = parser.parse_args()
    tree = options.tree.resolve()
    table = tomllib.loads(options.table.read_text("utf-8"))
    modules: dict[str, str] = table["modules"]
    move_modules(tree, modules)
    for old, new in table["files"].items():
        move_folder(tree, f"{SOURCE}/{old}", f"{SOURCE}/{new}")
    for old, new in sorted(table["tests"].items(), key=lambda pair: -pair[0].count("/")):
        if (tree / "tests" / old).is_dir():
            move_folder(tree, f"tests/{old}", f"tests/{new}")
        else:
            move(tree, f"tests/{old}", f"tests/{new}")
    subprocess.run(["git", "rm", "-q", "--ignore-unmatch", f"{SOURCE}/evaluate/__init__.py"], cwd=tree, check=True)
    pairs = patterns(modules)
    for old, new in table["files"].items():
        pairs.append((re.compile(rf"(?<!\w){re.escape(old)}\b"), new))
    for path in sorted(tree.rglob("*")):
        if SKIPPED & set(path.relative_to(tree).parts) or not path.is_file() or path.suffix not in TEXT:
            continue
        if path.name in {"renames.toml", "renames.py", "CHANGELOG.md"}:
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        new_text = rewrite(text, pairs, modules)
        for old, new in table["text"].items():
            new_text = new_text.replace(old, new)
        if new_text != text:
            path.write_text(new_text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
