"""`row_knock_out`: hide a source from the rows that predict the answer."""

from __future__ import annotations

from regard.models.chat.answer_case import AnswerCase
from regard.records import Floats
from regard.registry import citer


@citer(
    unit="nats",
    needs=("rows",),
    formula="s_c = F(x, y) - F(x, y | no row that predicts y sees a column of c)",
    cost="the plain pass and sources x answer tokens positions, in one call",
    misleads="a source that reaches the answer only by way of other positions of the prompt looks unused",
)
def row_knock_out(case: AnswerCase) -> Floats:
    """Drop of the log-odds when the rows of the answer cannot see a source."""
    return case.hiding([[number] for number in range(case.count)]).T
