"""ARCHITECTURE.md is the law: its floors must equal the real imports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "src" / "regard"
FLOOR_ZERO = {
    *"records protocols registry errors trust files foreign_code visible moved random_keys cards message".split(),  # noqa: SIM905
    *"method_facts verdict_records threat".split(),  # noqa: SIM905
}
DRAWERS = {"util", "utils", "helpers", "common", "misc", "base", "core", "manager"}


def floors() -> dict[str, int]:
    table = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        row = re.match(r"\| (\d+) \| (.+?) \|", line)
        if row:
            for room in re.findall(r"`(\w+)`", row[2]):
                table[room] = int(row[1])
    return table


def files() -> list[Path]:
    return sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that the file imports, at the top or inside a function (type-checking blocks included)."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_every_room_is_on_a_floor() -> None:
    rooms = {room_of(path) for path in files()} - {"__init__", "__main__"}
    assert rooms == set(floors()), "ARCHITECTURE.md and src/regard/ list different rooms"


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(HOUSE)))
def test_imports_go_down(path: Path) -> None:
    table = floors()
    here = room_of(path)
    if here in {"__init__", "__main__"}:
        return
    for name in imported(path):
        if not name.startswith("regard."):
            continue
        there = name.split(".")[1]
        if there == here or there not in table:
            continue
        if here in FLOOR_ZERO and there in FLOOR_ZERO:
            continue
        assert table[there] < table[here], f"{here} (floor {table[here]}) imports {name} (floor {table[there]})"


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(HOUSE)))
def test_nobody_uses_the_front_door_or_a_drawer(path: Path) -> None:
    assert path.stem not in DRAWERS
    if room_of(path) not in {"__init__", "__main__", "cli"}:
        assert "regard" not in imported(path), "import from the file that defines the thing, not from `regard`"


@pytest.mark.parametrize(
    "room", ["judge", "gate", "present", "measures", "store", "datasets", "records", "protocols", "registry"]
)
def test_rooms_without_torch(room: str) -> None:
    for path in files():
        if room_of(path) == room:
            torchy = {n for n in imported(path) if n.split(".")[0] in {"torch", "transformers"}}
            assert not torchy, f"{path}: {torchy}"


def test_rooms_without_eager_effects() -> None:
    """`import regard` must stay cheap: floor 0 imports nothing heavier than numpy."""
    allowed = {"numpy", "regard", "__future__"}
    import sys

    for name in FLOOR_ZERO:
        for module in imported(HOUSE / f"{name}.py"):
            top = module.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{name} imports {module}"


DRAWABLE = {
    "intervals.Interval",
    "pixel_range.full_brightness",
    "plausibility.inside",
    "walkthrough.Walkthrough",
    "walkthrough.AGREES",
}
"""What a report may use of `measures`: records to draw, the scale of pixels, where a mark lies. Nothing that tests."""
SELECTING = {"setting", "of_a_part", "other_method", "picked", "different", "shown_summaries", "typical_example"}
"""Functions of `audits.conclusions` that select findings and compute no statistics."""


@pytest.mark.parametrize("path", sorted((HOUSE / "present").rglob("*.py")), ids=lambda p: str(p.relative_to(HOUSE)))
def test_present_computes_no_intervals(path: Path) -> None:
    modules = {name.split(".")[0] for name in DRAWABLE}
    for name in imported(path):
        _, _, used = name.partition("regard.measures.")
        assert used in {"", *modules, *DRAWABLE}, f"{path} imports {name}"
        stored = re.match(r"regard\.audits\.(?:conclude|conclusions\.\w+)\.([a-z]\w*)$", name)
        assert stored is None or stored[1] in SELECTING, f"{path} imports {name}: draw what is stored"
        assert "random" not in name.split("."), f"{path} draws random numbers"


COMPUTES = re.compile(
    r"regard\.measures\.(intervals\.(bootstrap|wilson|ClusterSums|clopper_pearson)|(bounded_mean|hierarchical|resampling)\.[a-z]\w*)$"
)
OWN_PAGE = {
    "answers/summary.py": "the citations of `--task answer`, which has a page of its own",
    "every_row.py": "the scores of `--every-row`, which are no part of the report",
    "channel_order.py": "a decision before the audit; no interval is shown",
}
"""Files of `audits` outside `conclusions` that compute intervals, with the reason."""


def test_intervals_of_the_report_are_computed_by_conclude() -> None:
    """Other programs (gate, improve, surveys) compute those of their own tables; the report of an audit draws none."""
    audits = HOUSE / "audits"
    computing = {
        str(path.relative_to(audits))
        for path in audits.rglob("*.py")
        if path.parent.name != "conclusions" and any(COMPUTES.match(name) for name in imported(path))
    }
    assert computing == set(OWN_PAGE)
    for path in (HOUSE / "present" / "report").rglob("*.py"):
        above = {name for name in imported(path) if re.match(r"regard\.(gate|surveys|improve)\.", name)}
        assert not above, f"{path}: {above}"


def test_tap_imports_only_records_and_errors() -> None:
    for path in files():
        if room_of(path) == "tap":
            ours = {n.split(".")[1] for n in imported(path) if n.startswith("regard.")} - {"tap"}
            assert ours <= {"records", "errors"}, f"{path}: {ours}"
