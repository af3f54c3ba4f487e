"""Later questions wait while it is open, and looks as if, the weights do not matter. What is known all the same?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import How, made

from regard.judge.evidence import Evidence
from regard.judge.judge import judge
from regard.records import Judgement, Message

EXAMPLES = 150


def pointing_at(how: How) -> Evidence:
    """Evidence with changes of .015 on average: below the margin of .02, and not shown to be."""
    evidence = made(n=EXAMPLES // 2, how={"negative": how, "positive": how}, flips=0.0)
    changes = np.where(np.arange(len(evidence)) % 20 == 0, 0.3, 0.0)
    return replace(evidence, single={**evidence.single, "permuted": changes})


def settled(evidence: Evidence, change: float) -> Judgement:
    changes = np.full(len(evidence), change)
    return judge(replace(evidence, single={**evidence.single, "permuted": changes}))


@pytest.mark.parametrize("how", ["evidence", "half", "random"])
def test_what_a_waiting_answer_rules_out_stays_out_however_the_earlier_question_is_settled(how: How) -> None:
    evidence = pointing_at(how)
    waiting = judge(evidence)
    assert waiting.reading == "undecided"
    assert {v.answer for v in waiting.verdicts[1:3]} == {"uninformative"}
    assert waiting.graded is not None
    later = {settled(evidence, change).reading for change in (0.0, 0.03, 0.3)}
    assert len(later) > 1
    assert not later & set(waiting.graded.ruled_out)


def test_a_no_that_waits_leaves_two_readings_neither_of_which_shows_the_map() -> None:
    no, yes = judge(pointing_at("random")), judge(pointing_at("evidence"))
    assert no.graded is not None
    assert set(no.graded.ruled_out) == {"read as evidence", "for most inputs", "debugging only"}
    assert isinstance(no.sentence, Message)
    assert isinstance(yes.sentence, Message)
    assert (no.sentence.key, yes.sentence.key) == ("judge.reading.undecided_either_way", "judge.reading.undecided")
    assert no.decides_between == yes.decides_between


@pytest.mark.parametrize(("how", "why"), [("evidence", "undecided_matter"), ("half", "undecided_matter_in_part")])
def test_the_reason_of_an_open_reading_names_the_answer_to_the_other_question(how: How, why: str) -> None:
    evidence = pointing_at(how)
    # leans to "yes", so that nothing waits
    changes = np.where(np.arange(len(evidence)) % 10 == 0, 0.35, 0.0)
    judgement = judge(replace(evidence, single={**evidence.single, "permuted": changes}))
    assert judgement.reading == "undecided"
    assert isinstance(judgement.why, Message)
    assert judgement.why.key == f"judge.why.{why}"


def test_weights_that_matter_may_still_be_no_map() -> None:
    evidence = made(n=12, flat=0.06, noise=0.05)
    judgement = judge(evidence)
    assert judgement.graded is not None
    assert (judgement.verdicts[0].answer, judgement.verdicts[1].answer) == ("uninformative", "holds")
    assert "nothing to read" not in judgement.graded.ruled_out
