"""`regard status`: how far a run is, from any terminal, while it is running or after it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import print_json, results
from regard.cli.progress import duration
from regard.cli.verb import verb

if TYPE_CHECKING:
    from regard.store.run_status import RunStatus

MOST_KILLERS = 10
"""Maximum names of examples that killed their worker."""


@verb("status", "regard status regard-runs/bilstm-reviews-5m-seed0", "regard status RUN --json")
@click.argument("run", type=click.Path(path_type=Path))
def command(run: Path, as_json: bool) -> None:
    from regard.store.run_status import run_status

    status = run_status(run)
    if as_json:
        print_json(status.to_json())
        return
    from regard.present.messages.messages import count, say
    from regard.present.terminal.terminal import plain_table

    out = results()
    for line in _lines(status):
        out.print(line, markup=False, soft_wrap=True)
    workers = status.activity.get("workers") or {}
    if workers:
        head = [say(f"term.status.{name}") for name in ("worker", "examples", "rate", "last")]
        rows = [
            [name, str(w["examples"]), "" if w["rate"] is None else f"{w['rate']:.3g}", w["last"]]
            for name, w in workers.items()
        ]
        out.print(plain_table(head, rows))
    if status.killers:
        names = say("listed").join(status.killers[:MOST_KILLERS])
        out.print(say("term.status.killers", n=len(status.killers), names=names), markup=False, soft_wrap=True)
    if status.problems:
        out.print(say("term.status.problems", problems=count(status.problems, "problem")), markup=False)


def _lines(status: RunStatus) -> list[str]:
    from regard.present.messages.messages import say

    state = say(f"term.status.{status.status}")
    lines = [say("term.status.head", run=status.run, state=state, model=status.model, data=status.data)]
    activity = status.activity
    if activity:
        finished, total = activity["done"], activity["total"]
        left = activity["seconds_left"]
        running = status.status == "running" and left is not None and finished < total
        time_left = say("term.time_left", time=duration(left)) if running else ""
        share = f"{100 * finished / max(1, total):.0f}"
        lines.append(say("term.status.progress", done=finished, total=total, share=share, left=time_left))
        lines.append(say("term.status.updated", time=activity["updated"]))
    if rows := status.every_row:
        lines.append(say("term.status.every_row", done=rows["done"], total=rows["total"], time=rows["updated"]))
    lines.append(say("term.status.shards", n=status.shards, split=status.split, examples=status.examples))
    return lines
