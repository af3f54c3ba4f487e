"""A capability of a model is written once: one generic function, and no class that imitates the protocols."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.errors import Unsupported
from regard.models.ask.gradients import slopes
from regard.models.ask.unknown_units import unknown_units

HOUSE = Path(__file__).resolve().parents[1] / "src" / "regard"
TREES = {path.relative_to(HOUSE): ast.parse(path.read_text("utf-8")) for path in sorted(HOUSE.rglob("*.py"))}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_capability(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator).startswith("capability(") for decorator in function.decorator_list)


def test_a_capability_is_defined_in_three_files_at_most() -> None:
    names = {
        f.name for path, tree in TREES.items() if path.parts[0] == "models" for f in functions(tree) if is_capability(f)
    }
    assert len(names) > 20
    files = Counter(name for tree in TREES.values() for name in {f.name for f in functions(tree)} & names)
    assert {name: count for name, count in files.items() if count > 3} == {}


def test_no_class_imitates_the_protocols() -> None:
    """No class outside the adapter defines more than 18 public members that a protocol names."""
    protocols = [node for node in TREES[Path("protocols.py")].body if isinstance(node, ast.ClassDef)]
    members = {f.name for protocol in protocols for f in functions(protocol) if not f.name.startswith("_")}
    sizes = {
        f"{path}: {node.name}": len({f.name for f in functions(node)} & members)
        for path, tree in TREES.items()
        if path != Path("models/adapter.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    assert {name: size for name, size in sizes.items() if size > 18} == {}


@pytest.mark.parametrize(("name", "most"), [("Model", 15), ("Case", 17)])
def test_the_two_protocols_stay_small(name: str, most: int) -> None:
    """Anything else that a model can do is a capability in models/ask, anything else to ask a Question."""
    body = next(n.body for n in TREES[Path("protocols.py")].body if isinstance(n, ast.ClassDef) and n.name == name)
    members = [n for n in body if isinstance(n, ast.FunctionDef | ast.AnnAssign)]
    assert len(members) <= most


def test_nobody_above_models_asks_for_the_class_of_a_model() -> None:
    checks = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        if path.parts[0] != "models"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and "TorchModel" in ast.unparse(node)
    ]
    assert checks == []


class Mute:
    """A model that can do nothing."""

    name = "mute"


class Loud(Mute):
    """A model that registers one capability."""


def test_a_model_without_a_capability_is_refused_with_what_is_missing() -> None:
    with pytest.raises(Unsupported, match=r"slopes of mute.*needs gradient.*got Mute"):
        slopes(Mute(), [], [], [])  # type: ignore[arg-type]
    assert not slopes.supports(Mute())  # type: ignore[arg-type]


def test_a_class_joins_a_capability_by_registering() -> None:
    slopes.register(Loud, lambda model, batch, targets, points: [])
    assert slopes(Loud(), [], [], []) == []  # type: ignore[arg-type]
    assert slopes.supports(Loud())  # type: ignore[arg-type]
    assert not slopes.supports(Mute())  # type: ignore[arg-type]


def test_a_default_serves_every_other_class() -> None:
    assert unknown_units(Mute(), None) == 0  # type: ignore[arg-type]
