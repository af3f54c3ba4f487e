"""What a view of a stored run has without its model: rows that the answer reads, walk-throughs, the other attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import Result

from regard.audits.more_metrics import example_of, model_of
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import edited
from regard.present.pack.alternatives import alternatives_of
from regard.present.pack.pack import pack_of_run
from regard.records import Edit
from regard.store.run import Run
from regard.store.shard_result import units_from_json


def test_reading_rows_and_walk_throughs_are_in_the_pack(audited: tuple[Path, Result]) -> None:
    run = Run(audited[0])
    kept = [e for e in pack_of_run(run).manifest.examples if e.sites]
    assert [e.id for e in kept] == run.kept()
    for example in kept:
        (site,) = example.sites
        assert site.reading == list(range(site.rows))  # a mean over all places reads every row
        (walk,) = example.walks
        assert (walk.site, walk.head, walk.difference < 1e-5) == (0, 0, True)
        weights = run.capture(example.id)[0].weights[0, 0, walk.query]
        np.testing.assert_allclose(walk.weights, weights[walk.keys], atol=1e-5)


def test_the_other_attention_does_to_the_model_what_the_audit_says(audited: tuple[Path, Result]) -> None:
    run = Run(audited[0])
    model, tried = model_of(run, allow_code=True), 0
    for row in (r for r in run.examples() if r["id"] in run.kept()):
        sites = run.capture(row["id"])
        for other in alternatives_of(run.findings(), row, units_from_json(row["units"]), sites):
            case = DeskCase(Desk(model), [example_of(run, row)])
            rows = tuple(row["reading"][other.site])
            edit = Edit("replace", site=other.site, queries=rows, keys=tuple(range(other.weights.shape[2])),
                        values=other.weights[:, list(rows)])  # fmt: skip
            before, after = (a.distribution for a in (case.base(), edited(case, [[[edit]]])))
            assert before is not None
            assert after is not None
            assert abs(np.abs(after - before).sum() / 2 - other.change) < 1e-4
            np.testing.assert_allclose(other.weights.sum(-1), sites[0].weights[0].sum(-1), atol=1e-5)
            tried += 1
    assert tried
    entries = [a for e in pack_of_run(run).manifest.examples for a in e.alternatives]
    assert len(entries) == tried
