"""The phone book: names without imports, near misses, parameters, outsiders."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from regard import registry
from regard.errors import InputError, RegardError, UnknownName
from regard.records import Json, Spec
from regard.registry import Entry, build, describe, entry, explainer, find, method, names
from regard.testing.toy import ToyCase

OURS = {"attention", "rollout", "input_x_gradient", "integrated_gradients", "leave_one_out", "random"}


def test_names_and_parameters_without_torch_or_any_method_file() -> None:
    code = """
    import sys
    from regard.registry import entry, names
    from regard.errors import UnknownName
    assert "rollout" in names("explainer") and "agreement" in names("metric")
    assert {p.name for p in entry("explainer", "rollout").parameters} >= {"residual", "heads"}
    try:
        entry("explainer", "rolout")
    except UnknownName as error:
        assert "rollout" in str(error)
    loaded = {"torch", "transformers", "regard.explainers.rollout", "regard.measures.rollout"} & set(sys.modules)
    assert not loaded, loaded
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_every_explainer_of_the_first_audit_is_known_and_a_plain_import() -> None:
    assert set(names("explainer")) >= OURS
    from regard.explainers.rollout import rollout

    assert find("explainer", "rollout") is rollout


def test_the_entry_of_the_catalogue_is_that_of_the_code() -> None:
    for kind in ("explainer", "metric"):
        for name in names(kind):
            known = entry(kind, name)
            assert known == describe(find(kind, name))
            assert Entry.from_json(json.loads(json.dumps(known.to_json()))) == known


UNKNOWN = {
    "kind": (lambda: names("explaner"), "Try: explainer"),
    "name": (lambda: find("explainer", "atention"), "Try: attention"),
    "parameter": (lambda: build(Spec("explainer", "rollout", {"residul": 0.5})), "Try: residual"),
    "choice": (lambda: build(Spec("metric", "agreement", {"measure": "kendal"})), "Try: kendall"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_near_misses_are_suggested(what: str) -> None:
    call, said = UNKNOWN[what]
    with pytest.raises(UnknownName, match=said):
        call()


REFUSED = [
    ("rollout", {"residual": "much"}, "float"),
    ("rollout", {"residual": True}, "float"),
    ("rollout", {"renormalise": 1}, "bool"),
    ("integrated_gradients", {"steps": 2.5}, "int"),
    ("leave_one_out", {"operator": 3}, "str"),
    ("attention", {"layers": 0.5}, "str or int"),
    ("attention", {"layers": None}, "str or int"),
    ("attention", {"heads": False}, "str or int"),
]


@pytest.mark.parametrize(("name", "params", "expected"), REFUSED)
def test_ill_typed_parameters_are_refused_before_anything_runs(
    name: str, params: dict[str, Json], expected: str
) -> None:
    with pytest.raises(InputError, match=f"expected {expected}; got"):
        build(Spec("explainer", name, params))


def test_a_spec_builds_what_the_import_gives() -> None:
    case = ToyCase(flavour="layers")
    from regard.explainers.attention import attention

    for text, params in (("attention", {}), ("attention:layers=0,heads=max", {"layers": 0, "heads": "max"})):
        built = build(Spec.parse("explainer", text))(case)
        assert built.values.tolist() == attention(case, **params).values.tolist()  # type: ignore[arg-type]
    assert build(Spec("explainer", "leave_one_out", {"operator": None}))(case).signed
    fractions = build(Spec("metric", "comprehensiveness", {"fractions": [0.5]}))(case, case.relevance("random"))
    assert fractions.grid == (0.5,)


def test_describe_reads_the_signature() -> None:
    @explainer(needs=("attention",), cite="Nobody 2020")
    def sample(
        case: Any, *, a: int = 1, b: Literal["x", "y"] = "x", c: float | None = None, d: str | int = "all",
        e: tuple[float, ...] = (0.1,), f: str | int | None = None,
    ) -> Any:  # fmt: skip
        """What it does.

        More.
        """

    got = describe(sample)
    assert (got.kind, got.name, got.summary) == ("explainer", "sample", "What it does.")
    assert [(p.name, p.type, p.default) for p in got.parameters] == [
        ("a", "int", 1), ("b", "str", "x"), ("c", "float?", None), ("d", "str|int", "all"), ("e", "list", [0.1]),
        ("f", "str|int?", None),
    ]  # fmt: skip
    assert got.parameters[1].choices == ("x", "y")
    assert got.facts["cite"] == "Nobody 2020"

    @method("explainer")
    def no_default(case: Any, *, a: int) -> Any:
        """Forgot a default."""

    with pytest.raises(InputError, match="a default for a"):
        describe(no_default)
    with pytest.raises(InputError, match="decorated"):
        describe(lambda: None)


@pytest.fixture
def outsider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution of somebody else's on sys.path: one good entry point, and every bad one."""
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[regard.explainers]\nlength = their_package.length:length\nplain = their_package.length:plain\n"
        "alias = their_package.length:length\nabsent = their_package.length:absent\nlost = their_package.lost:lost\n"
        "[regard.metrics]\nlength = their_package.length:length\n"
    )
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "length.py").write_text(
        textwrap.dedent(
            '''
            from __future__ import annotations
            from regard.protocols import Case
            from regard.records import Relevance
            from regard.registry import explainer

            @explainer(cite="them")
            def length(case: Case, *, power: float = 1.0) -> Relevance:
                """Longer names matter more."""
                rows = [[0 if s else len(n) ** power for n, s in zip(u.names, u.special)] for u in case.units]
                return Relevance.of("length", case.ids, rows)

            def plain(case: Case) -> Relevance:
                """Not decorated."""
            '''
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._outsiders.cache_clear()
    yield tmp_path
    registry._outsiders.cache_clear()
    for name in [n for n in sys.modules if n.startswith("their_package")]:
        del sys.modules[name]


def test_an_outsider_registers_by_entry_point_and_passes_the_battery(outsider: Path) -> None:
    from regard.testing.battery import check_explainer

    assert set(names("explainer")) >= {"length", *OURS}
    assert "their_package" not in sys.modules, "listing names imports nothing"
    assert entry("explainer", "length").parameters[0].name == "power"
    got = build(Spec("explainer", "length", {"power": 2}))(ToyCase(("ab c",)))
    assert got.values.tolist() == [0, 4, 1]
    check_explainer(find("explainer", "length"))
    with pytest.raises(UnknownName, match="Try: length"):
        find("explainer", "lenght")


BAD_OUTSIDERS = [
    ("explainer", "plain", "decorated with @explainer; got one without it"),
    ("metric", "length", "decorated with @metric; got one decorated as explainer"),
    ("explainer", "alias", "got length. Try: name the entry point like its function"),
    ("explainer", "absent", "of their-package: .* got AttributeError.*uninstall their-package"),
    ("explainer", "lost", "of their-package: .* got ModuleNotFoundError.*uninstall their-package"),
]


@pytest.mark.parametrize(("kind", "name", "said"), BAD_OUTSIDERS)
def test_a_bad_outsider_is_refused_by_name(outsider: Path, kind: str, name: str, said: str) -> None:
    for ask in (find, entry):
        with pytest.raises(RegardError, match=said):
            ask(kind, name)


def test_a_bad_outsider_does_not_hide_the_others(outsider: Path) -> None:
    from click.testing import CliRunner

    from regard.cli.root import root

    shown = CliRunner().invoke(root, ["list", "explainer"])
    assert shown.exit_code == 0, shown.output
    assert "Longer names matter more" in shown.output
    assert shown.output.count("not usable: ") == 4
    listed = json.loads(CliRunner().invoke(root, ["list", "explainer", "--json"]).stdout)
    assert {e["name"] for e in listed if "problem" in e} == {"plain", "alias", "absent", "lost"}


@pytest.mark.parametrize("family", ["", "frist"])
def test_question_of_the_judge_needs_a_known_family(family: str) -> None:
    """The judge asks its questions by family: without one it would be listed and never asked."""

    def heads_agree(evidence: object) -> None:
        """Do the heads agree?"""

    heads_agree.__module__ = "regard.judge.heads_agree"
    with pytest.raises(InputError, match='family="further"'):
        registry.question(rank=30, family=family)(heads_agree)
    assert registry.describe(registry.question(rank=30, family="map")(heads_agree)).facts["family"] == "map"


def test_question_of_another_package_needs_no_family() -> None:
    @registry.question(rule="Always yes.")
    def heads_agree(evidence: object) -> None:
        """Do the heads agree?"""

    assert describe(heads_agree).facts["family"] == ""
