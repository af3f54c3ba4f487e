"""`random`: sources in a random order."""

from __future__ import annotations

from regard.models.chat.answer_case import AnswerCase
from regard.records import Floats
from regard.registry import citer


@citer(unit="rank", role="baseline", formula="s_c uniform in 0..1", cost="none")
def random(case: AnswerCase) -> Floats:
    """Uniform random scores, the same for the same seed, prompt and answer."""
    return case.rng("random").random((len(case.spans), case.count))
