"""`last_source`: the source nearest to the answer first."""

from __future__ import annotations

import numpy as np

from regard.models.chat.answer_case import AnswerCase
from regard.records import Floats
from regard.registry import citer


@citer(unit="rank", role="baseline", formula="s_c = place of the last token of c in the prompt", cost="none")
def last_source(case: AnswerCase) -> Floats:
    """Place of each source in the prompt: what a method that only knows positions can do."""
    places = np.arange(len(case.source_owners))
    last = [places[case.source_owners == number].max() / len(places) for number in range(case.count)]
    return np.tile(np.array(last), (len(case.spans), 1))
