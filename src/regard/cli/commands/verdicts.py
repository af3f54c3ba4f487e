"""`regard verdicts`: judge a stored run without its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from regard.cli.console import print_json, results
from regard.cli.model_options import listed, own_methods
from regard.cli.verb import verb
from regard.errors import Incomplete, phrase
from regard.message import Message


@verb(
    "verdicts",
    "regard verdicts regard-runs/bilstm-reviews-quick-seed0",
    "regard verdicts RUN --rules",
    "regard verdicts RUN --question mine.py:is_it_sharp",
    "regard verdicts RUN --lang zh",
    "regard verdicts RUN --json",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--rules", is_flag=True)
@click.option("--question", metavar="FILE.py:FUNCTION")
def command(run: Path, rules: bool, question: str | None, as_json: bool) -> None:
    own_methods("question", listed(question))
    from regard.judge.shift import shift_of
    from regard.judge.verdicts import verdicts
    from regard.store.judgements import judgement_to_json, with_answer_ids
    from regard.store.run import Run

    stored_run = Run(run)
    judgements: list[dict[str, Any]] = [judgement_to_json(j) for j in verdicts(stored_run)]
    if not judgements:
        raise Incomplete(
            phrase("errors.common.run_run", run=run),
            expected=phrase("errors.cli.evidence_about_attention"),
            got=_skipped(stored_run.skipped),
            remedy=phrase("errors.cli.audit_without_explainers"),
        )
    shift = shift_of(stored_run)
    if as_json:
        answered = [with_answer_ids(j) for j in judgements]
        print_json([{**j, "shift": _beside(shift, j)} for j in answered] if shift else answered)
        return
    from regard.present.judge_error_rate import covers
    from regard.present.messages.messages import render
    from regard.present.terminal.shift_view import shift_table
    from regard.present.terminal.terminal import bullets
    from regard.present.verdict_words import contrast, verdict_table
    from regard.present.verdict_words import question as asked_question

    covered = covers(str(stored_run.manifest["model"].get("task") or ""), stored_run.examples())
    results().print(verdict_table(judgements, covered=covered))
    if shift:
        results().print(shift_table(shift))
    if rules:
        for judgement in judgements:
            for v in judgement["verdicts"]:
                results().print(f"{asked_question(v)} [{v['rule']}]", markup=False, style="bold")
                lines = [contrast(c) for c in v["contrasts"] if c["estimate"] is not None]
                results().print(bullets([render(v["rule_in_words"]), *lines]))


def _skipped(skipped: Mapping[str, str]) -> Message:
    """Most frequent reason for skipped experiments, and how many had another; the report lists all."""
    reasons = Counter(reason for name, reason in skipped.items() if name.startswith("experiment "))
    if not reasons:
        return phrase("errors.cli.run_without_experiments")
    (reason, n), *others = reasons.most_common()
    more = sum(count for _, count in others)
    if not more:
        return phrase("errors.cli.experiments_skipped", n=n, reason=reason)
    return phrase("errors.cli.experiments_skipped_others", n=n, reason=reason, more=more)


def _beside(shift: dict[str, Any], judgement: dict[str, Any]) -> dict[str, Any] | None:
    """Return the outcome of this judgement on the shifted data."""
    same = [a for a in shift["attentions"] if a["attention"] == judgement["attention"]]
    return {"data": shift["data"], "accuracy": shift["accuracy"], **same[0]} if same else None
