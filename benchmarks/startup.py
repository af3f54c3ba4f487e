"""The cost of importing regard and of printing help."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lines import Line

HELLO = """
import click
@click.command()
@click.option("--name", default="you")
def hello(name):
    "Say hello."
    click.echo(f"hello {name}")
hello()
"""


def cpu_of(command: list[str]) -> float:
    """Return CPU seconds of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "NO_COLOR": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def best_of(commands: dict[str, list[str]], repeats: int = 9) -> dict[str, float]:
    best = dict.fromkeys(commands, float("inf"))
    for turn in range(repeats + 1):
        for name, command in commands.items():
            spent = cpu_of(command)
            if turn:
                best[name] = min(best[name], spent)
    return best


def run() -> list[Line]:
    with TemporaryDirectory() as folder:
        hello = Path(folder) / "hello.py"
        hello.write_text(HELLO, "utf-8")
        seconds = best_of(
            {
                "bare": [sys.executable, "-c", "pass"],
                "import": [sys.executable, "-c", "import regard"],
                "hello": [sys.executable, str(hello), "--help"],
                "help": [sys.executable, "-m", "regard", "--help"],
            }
        )
    above = (seconds["import"] - seconds["bare"]) * 1000
    return [
        Line(
            "import regard, CPU ms above a bare interpreter, as a share of 50 ms", above / 50, 1.0, "<=", {"ms": above}
        ),
        Line(
            "regard --help against a hello-world --help in the same library",
            seconds["help"] / seconds["hello"],
            2.0,
            "<=",
            {"ms": seconds["help"] * 1000, "hello_ms": seconds["hello"] * 1000},
        ),
    ]
