"""Run the pass over every row (`--every-row`) beside a finished run, with its engine and its threads."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from regard.audits.every_row import EveryRow, RowAudit, rows_identity, store
from regard.audits.options import AuditOptions
from regard.audits.plan import Plan
from regard.audits.resolve import Source
from regard.audits.scheduler import engine_of, kept_workers
from regard.audits.session import Session
from regard.audits.torch_threads import torch_threads
from regard.records import Example
from regard.store.ledger import Ledger
from regard.store.row_pages import FOLDER, RowPages


def run_every_row(path: Path, plan: Plan, data: Source, options: AuditOptions, session: Session) -> EveryRow:
    """Go through every row of the data; store the pages and the result in the directory of the run."""
    from regard.datasets.columns import ColumnChoice
    from regard.datasets.row_stream import row_stream

    columns = ColumnChoice(
        text=options.text_column,
        pair=options.pair_column,
        label=options.label_column,
        rationale=options.rationale_column,
        group=options.group_column,
        slices=options.slices,
    )
    stream = row_stream(cast("str | list[Example]", data), columns, split=options.split, skip_bad=options.skip_bad)
    with Ledger.read(path) as ledger:
        threads = int(ledger.facts()["identity"].get("threads", 1))
    engine, setup = engine_of(plan.subject.model, options, threads, session.say, most=session.most_workers)
    with kept_workers(engine) as kept_engine, torch_threads(threads):
        audit = RowAudit(
            plan=plan,
            stream=stream,
            engine=kept_engine,
            setup=setup,
            scored=options.every_row == "scores",
            progress=lambda done: None,
            count=lambda worker, rows, seconds: None,
        )
        identity = rows_identity(plan, stream, audit.settings, threads)
        with RowPages(path / FOLDER, identity, text=options.text) as pages:
            watched, rates = session.watched(pages)
            audit.count = rates.add
            audit.progress = lambda done: watched.rows(done, max(done, stream.size))
            result = audit.run(pages)
            rates.store()
            store(path / FOLDER, result)
    return result
