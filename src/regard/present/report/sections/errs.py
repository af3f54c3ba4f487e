"""Error rate of the judge where the truth is known: the table beside every verdict."""

from __future__ import annotations

from regard.present.judge_error_rate import ANSWERS, covers, in_a_sentence, track_record
from regard.present.messages.messages import known, say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material


def errs(material: Material) -> Html | None:
    """Table of the sealed half, in every report that has verdicts of a kind of model that it measured."""
    if not material.manifest.get("judgements"):
        return None
    record = track_record()
    covered = covers(material.task, material.examples)
    if record is None or not covered:
        return tag("p", {"class": "soft"}, in_a_sentence(record, covered=covered))
    rows = [
        (_name(question), say(f"answer.{truth}"), *(str(counts[truth][said]) for said in ANSWERS))
        for question, counts in record["tables"].items()
        for truth in ANSWERS
        if sum(counts[truth].values())
    ]
    head = [say("reading.question"), say("errs.true")]
    head += [say("errs.said", answer=say(f"answer.{a}")) for a in ANSWERS]
    when = {"date": record["date"][:10], "commit": record["commit"], "openings": record["openings"]}
    return join(
        tag("p", None, in_a_sentence(record)),
        tag(
            "details",
            None,
            tag("summary", None, say("page.numbers")),
            table(head, rows, caption=say("errs.caption", **when)),
        ),
        tag("p", {"class": "soft"}, say("errs.small")),
    )


def _name(question: str) -> str:
    return say(f"errs.names.{question}") if known(f"errs.names.{question}") else question
