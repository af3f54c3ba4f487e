"""Removal and the training distribution, and its effect on the order of the methods."""

from __future__ import annotations

import math

from regard.audits.conclusions.removal_in_distribution import MaskedInputs, OrderChange, TwinFigures
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material

TUNED = "finetuned_mask"
UNUSUAL = 0.05


def removal_in_distribution(material: Material) -> Html | None:
    """The test of masked inputs, the check of the twin, and the orders under raw and in-distribution removal."""
    results = material.conclusions.removal_in_distribution
    if results is None or (not results.masked and not any(TUNED in row.operators for row in results.orders)):
        return None
    seed = material.manifest.get("seed", 0)
    return join(
        tag("p", None, say("removal_in_distribution.lead")),
        _masked(results.masked, seed) if results.masked else None,
        tag("p", None, _twin(results.twin)) if results.masked else None,
        _orders(results.orders, seed) if results.orders else None,
    )


def _masked(rows: tuple[MaskedInputs, ...], seed: int) -> Html:
    keys = ("subject", "masked", "unusual", "p", "answer")
    head = [say(f"removal_in_distribution.{key}") for key in keys] + [say("column.n")]
    cells = [
        [
            say(f"removal_in_distribution.subject_{row.subject}"),
            row.masked,
            f"{row.rejected:.2f} [{row.low:.2f}, {row.high:.2f}]",
            f"{row.corrected:.3f}" if row.corrected >= 0.001 else "< 0.001",
            say(f"removal_in_distribution.{'outside' if row.corrected < UNUSUAL else 'nothing'}"),
            str(row.n),
        ]
        for row in rows
    ]
    caption = say("removal_in_distribution.masked_caption", references=rows[0].references, seed=seed)
    return table(head, cells, caption=caption, numeric=True)


def _twin(twin: TwinFigures | None) -> str:
    if twin is None:
        return say("removal_in_distribution.no_twin")
    return say(
        "removal_in_distribution.twin",
        agreement=f"{twin.agreement:.2f}",
        low=f"{twin.low:.2f}",
        high=f"{twin.high:.2f}",
        twin=f"{twin.twin_accuracy:.2f}",
        model=f"{twin.model_accuracy:.2f}",
        n=twin.n,
    )


def _orders(rows: tuple[OrderChange, ...], seed: int) -> Html:
    keys = ("metric", "operators", "tau", "best_first", "best_second", "same_best", "methods")
    head = [say(f"removal_in_distribution.{key}") for key in keys] + [say("column.n")]
    cells = [
        [
            row.metric,
            " / ".join(row.operators),
            f"{row.tau:.2f}" + (f" [{row.low:.2f}, {row.high:.2f}]" if math.isfinite(row.low) else ""),
            *row.best,
            f"{row.same_best:.0%}" if math.isfinite(row.same_best) else say("unknown"),
            str(row.methods),
            str(row.n),
        ]
        for row in rows
    ]
    return table(head, cells, caption=say("removal_in_distribution.orders_caption", seed=seed), numeric=True)
