"""Code of others that ends the program, plain `regard`, and shell completion: one line, and regard's own exit code."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from regard import registry
from regard.cli.root import COMPLETION, root
from regard.errors import EnvironmentProblem, InputError
from regard.explainers.given import given
from regard.records import Spec
from regard.testing.toy import ToyCase

FACTORIES = """
import sys
class Stop(KeyboardInterrupt): "No Ctrl-C."
class Strange(BaseException):
    def __str__(self): raise ValueError("not even this")
def exits(): sys.exit(0)
def exits_like_a_gate(): sys.exit(1)
def exits_with_words(): sys.exit("two\\nlines")
def stops(): raise Stop("by itself")
def strange(): raise Strange
def ends(): raise EOFError("no more")
def interrupts(): raise KeyboardInterrupt
def nothing(): print("garbage"); return None
def deep(): return deep()
def lacks(): import no_such_module
def yields(): yield 1
"""
CASES: dict[str, tuple[str, int, str]] = {
    # factory: its file, the exit code, words of the line
    "exits": (FACTORIES, 2, "factory exits in f.py: expected a model; got a call of sys.exit(0)"),
    "exits_like_a_gate": (FACTORIES, 2, "sys.exit(1)"),
    "exits_with_words": (FACTORIES, 2, "sys.exit('two\\nlines')"),
    "stops": (FACTORIES, 2, "Stop: by itself"),
    "strange": (FACTORIES, 2, "got Strange"),
    "ends": (FACTORIES, 4, "error in"),
    "interrupts": (FACTORIES, 130, "interrupted"),
    "nothing": (FACTORIES, 2, "NoneType"),
    "deep": (FACTORIES, 4, "RecursionError"),
    "lacks": (FACTORIES, 4, "no_such_module"),
    "yields": (FACTORIES, 2, "generator"),
    "exits at import": ("import sys; sys.exit(5)", 2, "can be imported; got a call of sys.exit(5)"),
    "stops at import": ("raise type('Own', (KeyboardInterrupt,), {})", 2, "can be imported; got Own"),
    "has an error in it": ("def make(:", 2, "SyntaxError"),
    "is no text": ("\0", 2, "null bytes"),
    "lacks a module": ("import no_such_module", 2, "no_such_module"),
    "recurses at import": ("def f(): f()\nf()", 2, "RecursionError"),
}


@pytest.mark.parametrize("factory", CASES)
def test_a_factory_never_chooses_the_exit_code(factory: str, tmp_path: Path) -> None:
    code, wanted, words = CASES[factory]
    (tmp_path / "f.py").write_text(code, "utf-8")
    name = factory if code == FACTORIES else "make"
    result = CliRunner().invoke(
        root, ["explain", f"{tmp_path}/f.py:{name}", "--text", "a", "--json"], prog_name="regard"
    )
    assert result.exit_code == wanted
    lines = result.stderr.strip().splitlines()
    assert lines[-1].startswith("regard: ")
    assert words in lines[-1]
    assert "Traceback" not in result.stderr
    assert result.stdout == ""  # what foreign code prints does not mix with the result


def test_a_model_that_exits_while_it_computes(
    regard: Callable[..., Result], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (place / "mine.py").read_text("utf-8").replace("h = self.embed(ids)", "import sys; sys.exit(0)", 1)
    (place / "leaving.py").write_text(code, "utf-8")
    result = regard("explain", "leaving.py:make", "--text", "a quiet film")
    assert result.exit_code == 4
    assert "leaving.py" in result.stderr
    assert "a call of sys.exit(0)" in result.stderr


@pytest.mark.parametrize(
    "code", ["import sys\nsys.exit(3)", "raise SystemExit", "class X(BaseException): pass\nraise X"]
)
def test_functions_of_given_relevances_that_exit(code: str, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(code, "utf-8")
    with pytest.raises(InputError, match="can be imported"):
        given(ToyCase(("wonderful film",)), function=f"{tmp_path}/f.py:make")
    body = "\n".join(f"    {line}" for line in code.splitlines())
    (tmp_path / "g.py").write_text(f"def make(example, units):\n{body}", "utf-8")
    with pytest.raises(InputError, match="relevances of"):
        given(ToyCase(("wonderful film",)), function=f"{tmp_path}/g.py:make")


def test_plug_ins_that_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = "from regard.registry import explainer\n"
    (tmp_path / "leaving_plugin.py").write_text("import sys\nsys.exit(0)", "utf-8")
    late = f"import sys\n{mark}@explainer()\ndef late(case):\n    'Leave.'\n    sys.exit(0)\n"
    (tmp_path / "late_plugin.py").write_text(late, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    points = {
        name: importlib.metadata.EntryPoint(name, f"{module}:{name}", "regard.explainers")
        for name, module in (("early", "leaving_plugin"), ("late", "late_plugin"))
    }
    monkeypatch.setattr(registry, "_outsiders", lambda kind: points if kind == "explainer" else {})
    with pytest.raises(EnvironmentProblem, match=r"sys.exit\(0\)"):
        registry.find("explainer", "early")
    with pytest.raises(InputError, match=r"sys.exit\(0\)"):
        registry.build(Spec("explainer", "late"))(None)


@pytest.mark.parametrize("words", [["--lang"], ["audit", "--lang"], ["--lang", "zh"]])
def test_a_language_without_its_name_is_a_usage_error(words: list[str]) -> None:
    result = CliRunner().invoke(root, words, prog_name="regard")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["regard"])

    def ask(instruction: str, words: str = "", at: str = "") -> Result:
        environment = {COMPLETION: f"{shell}_{instruction}", "COMP_WORDS": words, "COMP_CWORD": at}
        return CliRunner().invoke(root, [], prog_name="regard", env=environment)

    if shell != "bash":  # for bash click starts one, to ask for its version
        script = ask("source")
        assert script.exit_code == 0
        assert COMPLETION in script.stdout
    commands = ask("complete", "regard au", "au" if shell == "fish" else "1")
    assert commands.exit_code == 0
    assert "audit" in commands.stdout
    assert "improve" not in commands.stdout
    options = ask("complete", "regard audit --prof", "--prof" if shell == "fish" else "2")
    assert "--profile" in options.stdout


def test_an_unknown_completion_is_a_usage_error() -> None:
    result = CliRunner().invoke(root, [], prog_name="regard", env={COMPLETION: "nonsense"})
    assert result.exit_code == 2
    assert "bash_source" in result.stderr
