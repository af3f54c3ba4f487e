"""`gradient_contributions`: a first-order share of each source, from one backward pass through the answer's rows."""

from __future__ import annotations

from typing import Literal

from regard.models.chat.answer_case import AnswerCase
from regard.models.chat.gradient_contributions import gradient_contributions as contributions
from regard.records import Floats
from regard.registry import citer


@citer(
    unit="nats",
    needs=("rows", "gradient"),
    formula="s_c = sum over layers, heads, rows i and j in c of a_ij <v_j - o_i, dF/do_i>",
    cost="the plain pass, and a forward and backward of the answer's rows alone",
    misleads="a first-order estimate: renormalised, a head that looks at one token only looks unused",
)
def gradient_contributions(case: AnswerCase, *, form: Literal["renormalised", "plain"] = "renormalised") -> Floats:
    """Gradient of the log-odds by the attention that the answer's rows pay to each source.

    form="plain" has v_j in place of v_j - o_i: it knows nothing of the other columns that would take over the weight,
    but does not vanish where a head has all of its weight on one token.
    """
    positions = len(case.reply.ids) * (1 + 2 * len(case.spans))

    def measured() -> Floats:
        return contributions(case.rows, case.owners, case.source_owners, form=form)

    return case.ask(f"gradient_contributions {form}", measured, positions=positions)
