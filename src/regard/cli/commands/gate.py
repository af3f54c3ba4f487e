"""`regard gate`: check a stored run against a policy; the exit code is the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import echo, print_json, remarks, results
from regard.cli.verb import verb
from regard.errors import InputError, RegardError, phrase

if TYPE_CHECKING:
    from regard.gate.gate import Outcome


@verb(
    "gate",
    "regard gate RUN --policy policy.toml",
    "regard gate RUN --policy policy.toml --baseline LAST_RUN",
    "regard gate RUN --policy policy.toml --junit gate.xml --summary gate.md",
    "regard gate RUN --policy policy.toml --inconclusive fail",
    "regard gate RUN --require 'share>=70%'",
    "regard gate RUN --require points=yes --require 'verdict=read as evidence,for most inputs'",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--policy", type=click.Path(path_type=Path))
@click.option("--require", "required", multiple=True, metavar="RULE")
@click.option("--baseline", type=click.Path(path_type=Path))
@click.option("--junit", type=click.Path(path_type=Path))
@click.option("--summary", type=click.Path(path_type=Path))
@click.option("--allow-fail", multiple=True, metavar="NAME")
@click.option("--inconclusive", type=click.Choice(["report", "fail", "warn"]))
def command(
    run: Path,
    policy: Path | None,
    required: tuple[str, ...],
    baseline: Path | None,
    junit: Path | None,
    summary: Path | None,
    allow_fail: tuple[str, ...],
    inconclusive: str | None,
    as_json: bool,
) -> int:
    from regard.gate import outputs
    from regard.gate.gate import gate, refused
    from regard.gate.policy import Policy, parse_requirement, read_policy
    from regard.present.messages.messages import render

    try:
        if policy is None and not required:
            raise InputError(
                "gate", expected=phrase("errors.cli.policy_file_or_require_rule"), got=phrase("errors.common.neither")
            )
        rules = read_policy(policy) if policy is not None else Policy()
        rules = replace(rules, requirements=(*rules.requirements, *map(parse_requirement, required)))
        outcome = gate(run, rules, baseline=baseline, allow_fail=allow_fail, inconclusive=inconclusive)
    except RegardError as error:
        outcome = refused(error, str(run), str(policy or ""))
    try:
        for path, form in ((junit, outputs.junit), (summary, outputs.markdown)):
            if path is not None:
                outputs.write(outcome, path, form, render)
    except RegardError as error:
        # a report that CI waits for and does not get is not a pass; what was found out before is not hidden by it
        outcome = outcome if outcome.exit_code in (1, 2) else refused(error, str(run), str(policy or ""))
    if as_json:
        print_json(outcome.to_json())
    else:
        _show(outcome)
    return outcome.exit_code


def _show(outcome: Outcome) -> None:
    from regard.present.messages.messages import columns, render
    from regard.present.terminal.terminal import plain_table

    for note in outcome.notes:
        remarks().print(render(note), markup=False, soft_wrap=True)
    if outcome.checks:
        rows = [
            (
                _result(c.result, only_warns=c.level == "warn" and c.result != "pass"),
                render(c.title or c.name),
                render(c.number) + (f", p {c.p:.2g}" if c.p is not None else ""),
                str(c.n),
                render(c.required) + (f" ({render(c.reason)})" if c.reason else ""),
            )
            for c in outcome.checks
        ]
        results().print(plain_table(columns("term.gate.columns"), rows, right=(3,)))
    # the last line of the output, never folded: a script may read it instead of the exit code
    echo(" ".join(render(outcome.verdict).split()))


def _result(name: str, *, only_warns: bool) -> str:
    from regard.present.messages.messages import known, say

    label = say(f"term.gate.{name}") if known(f"term.gate.{name}") else name
    return say("term.gate.warning", result=label) if only_warns else label
