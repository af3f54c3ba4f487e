"""Behavioural tests and term swaps from the command line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.console import print_json, print_notes, remarks, results
from regard.cli.model_options import ModelChoice, checked_names, listed
from regard.cli.progress import bar
from regard.errors import GateFailed, Incomplete, phrase
from regard.present.messages.messages import columns, render, say

if TYPE_CHECKING:
    from regard.datasets.examples import Examples
    from regard.measures.intervals import Interval

MOST_PRINTED = 5
"""Maximum failures and worst texts on a screen; `--json` has all of them."""


def put_tests(choice: ModelChoice, path: Path, seed: int, *, as_json: bool) -> None:
    from regard.perturbations.templates import read_tests
    from regard.surveys.behaviour import behaviour

    tests = read_tests(path, seed)
    with bar(remarks(), making=choice.making) as progress_bar:
        live = choice.open()
        results_by_test = behaviour(
            live,
            tests,
            seed=seed,
            progress=lambda what, done, total: progress_bar.show(what, done / max(1, total), f"{done}/{total}"),
        )
    if as_json:
        print_json({"model": live.name, "seed": seed, "tests": [r.to_json() for r in results_by_test]})
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
            for r in results_by_test
        ]
        out = results()
        out.print(
            say("term.perturb.tests", model=live.name, n=len(results_by_test), seed=seed), markup=False, style="bold"
        )
        out.print(plain_table(columns("term.perturb.test_columns"), rows, right=(2, 3)))
        for r in results_by_test:
            for failure in r.failures[:MOST_PRINTED]:
                after = "" if failure.changed is None else f" -> {failure.changed!r}: {failure.said_after}"
                out.print(
                    f"  {r.test.name}: {failure.text!r}: {failure.said} {failure.probability:.2f}{after}"
                    + ("" if failure.probability_after is None else f" {failure.probability_after:.2f}"),
                    markup=False,
                    style="dim",
                )
            if len(r.failures) > MOST_PRINTED:
                out.print(
                    "  " + say("term.perturb.more", name=r.test.name, n=len(r.failures) - MOST_PRINTED),
                    markup=False,
                    style="dim",
                )
        out.print(say("term.perturb.fillings"), style="dim", markup=False)
    states = {r.test.name: r.status for r in results_by_test}
    failed, undecided = ([n for n, s in states.items() if s == wanted] for wanted in ("failed", "open"))
    if failed:
        raise GateFailed(
            phrase("errors.common.tests_failed", failed=", ".join(failed)),
            expected=phrase("errors.cli.required_share_pass"),
            got=phrase("errors.cli.less_for_sure"),
        )
    if undecided:
        raise Incomplete(
            phrase("errors.common.tests_failed", failed=", ".join(undecided)),
            expected=phrase("errors.cli.interval_on_one_side_required"),
            got=phrase("errors.cli.one_across"),
            remedy=phrase("errors.cli.more_fillings"),
        )


def put_swaps(
    choice: ModelChoice, data: str | Examples | None, swaps: str, method: str, limit: int, seed: int, *, as_json: bool
) -> None:
    from regard.audits import resolve
    from regard.audits.repeatability import warning
    from regard.perturbations.terms import families_of
    from regard.surveys.term_swaps import MEASURES, sensitive

    path = Path(swaps) if Path(swaps).suffix == ".toml" else None
    names = None if path is not None or swaps == "all" else listed(swaps)
    families = families_of(path, names)
    checked_names("explainer", [method])
    with bar(remarks(), making=choice.making) as progress_bar:
        live = choice.open()
        read = resolve.open_data(data or resolve.default_data(choice.source), limit, seed)
        examples, notes = resolve.prepared(live, read, limit)
        notes = [*[text for text in [warning(live, examples[0])] if text], *notes]
        swaps_by_family = sensitive(
            live,
            examples,
            families,
            method=method,
            seed=seed,
            progress=lambda what, done, total: progress_bar.show(what, done / max(1, total), f"{done}/{total}"),
        )
    if as_json:
        return print_json(
            {
                "model": live.name,
                "data": read.name,
                "seed": seed,
                "method": method,
                "families": [r.to_json() for r in swaps_by_family],
            }
        )
    from regard.present.terminal.terminal import plain_table

    out = results()
    out.print(
        say("term.perturb.swaps", model=live.name, n=len(examples), data=read.name, seed=seed),
        markup=False,
        style="bold",
    )
    rows: list[tuple[str, ...]] = []
    for r in swaps_by_family:
        if not r.effects:
            rows.append((r.family, "0", say("term.perturb.no_term"), "", "", ""))
        for e in r.effects:
            cells = [_cell(x) for x in (e.swap, e.placebo, e.difference)]
            rows.append((r.family, str(r.texts), e.measure, *cells))
    out.print(plain_table(columns("term.perturb.swap_columns"), rows, right=(1,)))
    for name, meaning in MEASURES.items():
        explanation = render(meaning)
        explanation = say("term.perturb.by", meaning=explanation, method=method) if name == "relevance" else explanation
        out.print(f"{name}: {explanation}", markup=False, style="dim")
    out.print(say("term.perturb.difference"), style="dim", markup=False)
    for r in swaps_by_family:
        for line in r.unknown:
            out.print(f"  {r.family}, {render(line)}", markup=False, style="yellow")
        for text, replacement, change in r.worst[:MOST_PRINTED]:
            out.print(f"  {r.family} {change:.2f}: {text!r} -> {replacement!r}", markup=False, style="dim")
    print_notes([*notes, *read.notes])


def _cell(x: Interval) -> str:
    return f"{x.estimate:.3f} [{x.low:.3f}, {x.high:.3f}]" if math.isfinite(x.low) else f"{x.estimate:.3f}"
