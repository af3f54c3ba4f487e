"""`regard new`: the skeleton of a new method."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, results
from regard.cli.verb import verb
from regard.visible import shell_word


@verb(
    "new",
    "regard new explainer my_method               writes my_method.py and test_my_method.py here",
    "regard new explainer my_method --out plugin  in another directory",
    "regard new metric my_metric --json",
)
@click.argument("kind")
@click.argument("name")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), help="Output directory (default: the current one)."
)
def command(kind: str, name: str, out: Path, as_json: bool) -> None:
    from regard.present.messages.messages import say
    from regard.testing.skeleton import new_method

    files = new_method(kind, name, out)
    if as_json:
        print_json([str(path) for path in files])
        return
    show = results()
    for path in files:
        show.print(say("term.list.wrote", path=path), markup=False, soft_wrap=True)
    show.print(
        f"\n{say('term.list.next', out=shell_word(out), name=name)}\n\n"
        f'  [project.entry-points."regard.{kind}s"]\n  {name} = "your_package.{name}:{name}"',
        markup=False,
        soft_wrap=True,
    )
