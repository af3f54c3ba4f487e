"""`regard new`: the skeleton of a new method."""

from __future__ import annotations

from pathlib import Path

import click

from regard.cli.console import print_json, results
from regard.cli.model_options import out_option
from regard.cli.verb import verb
from regard.visible import shell_word

USES = {
    "explainer": (
        "  regard explain bilstm --text 'a quiet, moving film' --method {method}",
        "  regard audit bilstm --explainers attention,{method},random",
    ),
    "metric": (
        "  regard audit bilstm --metrics {method} --explainers attention,random --limit 40",
        "  regard audit bilstm --metrics comprehensiveness,{method}",
    ),
    "perturbation": (
        "  regard perturb 'a quiet, moving film' --noise {method}",
        "  regard perturb bilstm --data reviews --noise keyboard,{method} --limit 100",
    ),
    "attack": (
        "  regard attack bilstm --attack {method} --limit 40",
        "  regard attack bilstm --attack random_words,{method}",
    ),
    "question": ("  regard audit bilstm --budget 90s --out RUN", "  regard verdicts RUN --question {method}"),
}
"""Code that uses a new method before it is part of a package."""


@verb(
    "new",
    "regard new explainer my_method",
    "regard new explainer my_method --out plugin",
    "regard new metric my_metric --json",
    "regard new perturbation my_noise",
)
@click.argument("kind", type=click.Choice([*USES]))
@click.argument("name")
@out_option(default=Path())
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
        f'  [project.entry-points."regard.{kind}s"]\n  {name} = "your_package.{name}:{name}"\n',
        markup=False,
        soft_wrap=True,
    )
    file = shell_word(next(path for path in files if path.stem == name))
    if kind in USES:
        show.print(say("term.list.use_now"), markup=False)
    for line in USES.get(kind, ()):
        show.print(line.format(method=f"{file}:{name}"), markup=False, soft_wrap=True)
