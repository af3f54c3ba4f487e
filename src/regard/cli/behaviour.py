"""Tests of behaviour and sensitive terms, put to a model from the command line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.console import print_json, print_notes, remarks, results
from regard.cli.model_options import ModelChoice, checked_names, listed
from regard.cli.progress import bar
from regard.errors import GateFailed, Incomplete
from regard.present.messages.messages import columns, say
from regard.present.retelling import retold

if TYPE_CHECKING:
    from regard.datasets.examples import Examples
    from regard.measures.intervals import Interval

SHOWN = 5
"""Failures and worst texts on a screen; `--json` has all of them."""


def put_tests(choice: ModelChoice, path: Path, seed: int, *, as_json: bool) -> None:
    from regard.perturbations.templates import read_tests
    from regard.surveys.behaviour import behaviour

    tests = read_tests(path, seed)
    with bar(remarks(), making=choice.making) as shown:
        live = choice.open()
        found = behaviour(
            live, tests, seed=seed,
            progress=lambda what, done, total: shown.show(what, done / max(1, total), f"{done}/{total}"),
        )  # fmt: skip
    if as_json:
        print_json({"model": live.name, "seed": seed, "tests": [r.to_json() for r in found]})
    else:
        from regard.present.terminal.terminal import plain_table

        rows = [
            (
                r.test.name,
                r.test.kind,
                f"{r.passed}/{r.n}",
                f"{r.passed / r.n:.1%}" if r.n else "-",
                say("term.attack.to", low=f"{r.low:.1%}", high=f"{r.high:.1%}"),
                r.status if r.status == "-" else say(f"term.perturb.{r.status}"),
            )
            for r in found
        ]
        out = results()
        out.print(say("term.perturb.tests", model=live.name, n=len(found), seed=seed), markup=False, style="bold")
        out.print(plain_table(columns("term.perturb.test_columns"), rows, right=(2, 3)))
        for r in found:
            for failure in r.failures[:SHOWN]:
                after = "" if failure.changed is None else f" -> {failure.changed!r}: {failure.said_after}"
                out.print(f"  {r.test.name}: {failure.text!r}: {failure.said} {failure.probability:.2f}{after}"
                          + ("" if failure.probability_after is None else f" {failure.probability_after:.2f}"),
                          markup=False, style="dim")  # fmt: skip
            if len(r.failures) > SHOWN:
                out.print(
                    "  " + say("term.perturb.more", name=r.test.name, n=len(r.failures) - SHOWN),
                    markup=False,
                    style="dim",
                )
        out.print(say("term.perturb.fillings"), style="dim", markup=False)
    states = {r.test.name: r.status for r in found}
    failed, undecided = ([n for n, s in states.items() if s == wanted] for wanted in ("failed", "open"))
    if failed:
        raise GateFailed(f"tests {', '.join(failed)}", expected="the required share to pass", got="less, for sure")
    if undecided:
        raise Incomplete(f"tests {', '.join(undecided)}", expected="an interval on one side of the required share",
                         got="one across it", remedy="more fillings")  # fmt: skip


def put_swaps(
    choice: ModelChoice, data: str | Examples | None, swaps: str, method: str, limit: int, seed: int, *, as_json: bool
) -> None:
    from regard.audits import resolve
    from regard.audits.repeatability import warning
    from regard.perturbations.terms import families_of
    from regard.surveys.term_swaps import MEASURES, sensitive

    path = Path(swaps) if Path(swaps).suffix == ".toml" else None
    wanted = None if path is not None or swaps == "all" else listed(swaps)
    families = families_of(path, wanted)
    checked_names("explainer", [method])
    with bar(remarks(), making=choice.making) as shown:
        live = choice.open()
        read = resolve.open_data(data or resolve.default_data(choice.source), limit, seed)
        examples, notes = resolve.prepared(live, read, limit)
        notes = [*filter(None, [warning(live, examples[0])]), *notes]
        found = sensitive(
            live, examples, families, method=method, seed=seed,
            progress=lambda what, done, total: shown.show(what, done / max(1, total), f"{done}/{total}"),
        )  # fmt: skip
    if as_json:
        return print_json({"model": live.name, "data": read.name, "seed": seed, "method": method,
                           "families": [r.to_json() for r in found]})  # fmt: skip
    from regard.present.terminal.terminal import plain_table

    out = results()
    out.print(
        say("term.perturb.swaps", model=live.name, n=len(examples), data=read.name, seed=seed),
        markup=False,
        style="bold",
    )
    rows: list[tuple[str, ...]] = []
    for r in found:
        if not r.effects:
            rows.append((r.family, "0", say("term.perturb.no_term"), "", "", ""))
        for e in r.effects:
            cells = [_cell(x) for x in (e.swap, e.placebo, e.difference)]
            rows.append((r.family, str(r.texts), e.measure, *cells))
    out.print(plain_table(columns("term.perturb.swap_columns"), rows, right=(1,)))
    for name, meaning in MEASURES.items():
        told = retold(meaning)
        told = say("term.perturb.by", meaning=told, method=method) if name == "relevance" else told
        out.print(f"{name}: {told}", markup=False, style="dim")
    out.print(say("term.perturb.difference"), style="dim", markup=False)
    for r in found:
        for line in r.unknown:
            out.print(f"  {r.family}, {line}", markup=False, style="yellow")
        for text, changed, moved in r.worst[:SHOWN]:
            out.print(f"  {r.family} {moved:.2f}: {text!r} -> {changed!r}", markup=False, style="dim")
    print_notes([*notes, *read.notes])


def _cell(x: Interval) -> str:
    return f"{x.estimate:.3f} [{x.low:.3f}, {x.high:.3f}]" if math.isfinite(x.low) else f"{x.estimate:.3f}"
