"""`leave_source_out`: delete a source and read the prompt again."""

from __future__ import annotations

import numpy as np

from regard.models.chat.answer_case import AnswerCase
from regard.records import Floats
from regard.registry import citer


@citer(
    unit="nats",
    needs=("deletion",),
    role="reference",
    formula="s_c = F(x, y) - F(x without c, y), the template rendered again",
    cost="the plain pass and one pass per source, from the first different token on",
    misleads="two sources that say the same replace each other, and both look unused",
)
def leave_source_out(case: AnswerCase) -> Floats:
    """Drop of the log-odds when a source is deleted and the prompt rendered again."""
    return np.stack([case.deletion(number) for number in range(case.count)], 1)
