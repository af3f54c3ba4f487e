"""The program itself: without arguments, under shell completion, with a factory that ends the process."""

from __future__ import annotations

from pathlib import Path

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.corpus.entry import Entries
from benchmarks.fuzz.materials import Materials

ENTRIES = Entries()


@ENTRIES.past("regard alone")
def _bare(originals: Materials, folder: Path) -> Case:
    return Case([[]], frozenset({0, 2}), silent=True)


@ENTRIES.past("the completion of a shell")
def _completion(originals: Materials, folder: Path) -> Case:
    return Case([[]], frozenset({0}), environment={"_REGARD_COMPLETE": "bash_source"})


@ENTRIES.past("the completion of one word")
def _completed(originals: Materials, folder: Path) -> Case:
    words = {"_REGARD_COMPLETE": "bash_complete", "COMP_WORDS": "regard au", "COMP_CWORD": "1"}
    return Case([[]], frozenset({0}), environment=words)


def _factory(name: str, body: str) -> None:
    @ENTRIES.past(f"a factory that {name}")
    def make(originals: Materials, folder: Path) -> Case:
        (folder / "mine.py").write_text(f"import sys, os\n\ndef make():\n    {body}\n", "utf-8")
        words = ["capture", f"{folder / 'mine.py'}:make", "--text", "a film"]
        return Case([words], frozenset({2, 4}))


_factory("ends the process", "sys.exit(0)")
_factory("ends the process as if a gate had failed", "sys.exit(1)")
_factory("ends the process with a text", "sys.exit('no')")
_factory("raises BaseException", "raise BaseException('mine')")
_factory("raises GeneratorExit", "raise GeneratorExit")
_factory("gives nothing", "return None")
_factory("gives a number", "return 7")


@ENTRIES.past("a file that ends the process when it is imported")
def _import(originals: Materials, folder: Path) -> Case:
    (folder / "mine.py").write_text("import sys\nsys.exit(0)\n", "utf-8")
    return Case([["capture", f"{folder / 'mine.py'}:make", "--text", "a film"]], frozenset({2, 4}))


@ENTRIES.past("an escape in the name of a command")
def _escape(originals: Materials, folder: Path) -> Case:
    return Case([["\x1b[31maudit"], ["explain", "\x1b]0;x\x07", "--text", "a \u202efilm"]], frozenset({2}))


def _nobody(name: str, word: str) -> None:
    @ENTRIES.past(f"a model called {name}")
    def make(originals: Materials, folder: Path) -> Case:
        lines = [["capture", word, "--text", "a film"], ["perturb", word, "--data", str(originals.csv)]]
        return Case(
            [*lines, ["audit", word, "--data", str(originals.csv), "--out", str(folder / "run")]], frozenset({2})
        )


_nobody("by a picture", "\U0001f600")
_nobody("by a long word", "x" * 5000)
_nobody("by many brackets", "a:b=" + "[" * 2000)
_nobody("by two words", "no body")
_nobody("by a word that is no id", "-a..b-")


@ENTRIES.past("data called by a long word")
def _long_data(originals: Materials, folder: Path) -> Case:
    return Case([["perturb", str(originals.network), "--data", "x" * 5000]], frozenset({2}))


@ENTRIES.past("a run called by a long word")
def _long_run(originals: Materials, folder: Path) -> Case:
    return Case([["report", "x" * 5000], ["metrics", "x" * 5000]], frozenset({2}))
