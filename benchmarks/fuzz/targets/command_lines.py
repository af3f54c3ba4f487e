"""Command lines: valid ones of every command, then hostile values, unknown options, words removed, duplicated or
swapped.

Outputs stay inside the folder of the case: no absolute path is ever put among the hostile words, and options that
decide how much work is done get small or invalid numbers only.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

from benchmarks.fuzz import mutations
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.materials import AUDIT, Materials

CODES = frozenset({0, 2, 3, 4})
WORK: tuple[str, ...] = (
    "--workers",
    "--epochs",
    "--seeds",
    "--generate",
    "--budget",
    "--examples",
    "--n",
    "--limit",
    "--patience",
)
WORK += ("--set", "--batch-size")
SMALL = ("0", "-1", "x", "", "1.5", "nan", "1", "1e9", "٣", "\x1b[31m")
LEFT_OUT = frozenset({"--debug", "--model", "--help", "--port", "--browser", "--transfer", "--siblings", "--shift"})


def lines(originals: Materials, own_run: Path) -> list[list[str]]:
    """One short valid line of every command; the first two words stay where they are."""
    network, bert, run, csv = (str(p) for p in (originals.network, originals.bert, own_run, originals.csv))
    text = ["--text", "a quiet film"]
    return [
        ["audit", network, "--data", csv, *AUDIT, "--limit", "2", "--out", "out"],
        ["perturb", csv, "--noise", "keyboard", "--limit", "2", "--severity", "2"],
        ["perturb", network, "--data", csv, "--noise", "keyboard", "--severity", "1", "--limit", "4"],
        ["attack", network, "--data", csv, "--n", "2", "--budget", "5", "--attack", "greedy_word", "--out", "out"],
        ["train", "classifier", "--data", csv, "--set", "size=4", "--epochs", "1", "--out", "out"],
        ["explain", network, *text, "--method", "attention"],
        ["capture", bert, *text, "--head", "0"],
        ["view", network, *text, "--html", "view.html"],
        ["view", run, "--example", "e0", "--html", "view.html"],
        ["view", network, *text, "--svg", "view.svg", "--width", "500"],
        ["walkthrough", "a quiet film", "--model", bert, "--layer", "0"],
        ["heads", bert, "--data", csv, "--limit", "2"],
        ["prune", bert, "--heads", "0.1", "--data", csv, "--limit", "2", "--out", "out"],
        ["list", "explainer"],
        ["metrics", run, "--metric", "decision_flip"],
        ["experiments", run],
        ["gate", run, "--policy", str(originals.root / "policy.toml")],
        ["verdicts", run],
        ["report", run, "--out", "page.html"],
        ["report", run, "--format", "md", "--out", "page.md"],
        ["export", run, "--out", "out"],
        ["new", "explainer", "mine"],
    ]


def case(rng: Random, originals: Materials, folder: Path) -> Case:
    run = folder / "run"
    shutil.copytree(originals.run, run, ignore=shutil.ignore_patterns("lock"))  # some commands write into it
    words = list(rng.choice(lines(originals, run)))
    for _ in range(rng.choice((1, 1, 2, 3))):
        words = _changed(words, rng)
    safe = [_argument(word, at) for at, word in enumerate(words)]
    gate = safe[0] == "gate"
    return Case([safe], CODES | {1} if gate else CODES, silent=gate)


def _changed(words: list[str], rng: Random) -> list[str]:
    """Make one change; words 0 and 1 (command and model) are swapped at most, so that no default model is trained."""
    at = rng.randrange(min(2, len(words) - 1), len(words))
    how = rng.random()
    if how < 0.35:
        return [*words[:at], _value(words[at - 1], rng), *words[at + 1 :]]
    if how < 0.6:
        option = _option(words[0], rng)
        return [*words, option, *([] if rng.random() < 0.2 else [_value(option, rng)])]
    if how < 0.7 and at > 1 and words[0] != "walkthrough":
        return [*words[:at], *words[at + 1 :]]
    if how < 0.78:
        return [*words[:at], words[at], *words[at:]]
    if how < 0.84:
        return [*words, rng.choice(("--json", "--lang=zh", "--lang=xx", "--no-such", "-x", "stray", "--"))]
    if how < 0.92:
        return [words[0], _name(rng), *words[2:]] if len(words) > 1 else words
    return [mutations.string(rng) if rng.random() < 0.8 else words[0], *words[1:]]


def _option(command: str, rng: Random) -> str:
    """Return any option of the command."""
    import importlib

    import click

    from regard.cli.root import COMMANDS

    if command not in COMMANDS:
        return "--json"
    known: click.Command = importlib.import_module(f"regard.cli.commands.{command}").command
    names = [name for p in known.params if isinstance(p, click.Option) for name in (*p.opts, *p.secondary_opts)]
    return rng.choice([name for name in sorted(names) if name not in LEFT_OUT])


def _value(option: str, rng: Random) -> str:
    if option in WORK:
        return rng.choice(SMALL)
    return mutations.string(rng)


def _name(rng: Random) -> str:
    """Return an invalid model, run or text; never empty, which would mean the default."""
    return mutations.string(rng).strip() or "nobody"


def _argument(word: str, at: int) -> str:
    """Make a word that a system can pass: no NUL, and no path out of the temporary directory."""
    passed = word.replace("\x00", "\ufffd")
    return passed.lstrip("/~") if at and not os.path.exists(passed) else passed
