"""Gradient contributions: a first-order share of every source in an answer, from one row backward.

For a span of the answer with log-odds F, the contribution of prompt column j is

    plain          sum over layers, heads and rows i of  a_ij <v_j, dF/do_i>
    renormalised   sum over layers, heads and rows i of  a_ij <v_j - o_i, dF/do_i>

with attention weights a, values v and head outputs o before the output projection; keys and values of the prompt are
constants. The first is the derivative of F by a factor of the value v_j, the second by a term added to every score of
column j: the second accounts for the weight that a hidden column leaves to the others. Both derivatives are computed
directly, so no attention weight is read and every attention kernel works.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from regard.errors import Unsupported, phrase
from regard.models.chat.answer_rows import AnswerRows
from regard.records import Floats, Ints

Form = Literal["renormalised", "plain"]


def gradient_contributions(
    rows: AnswerRows, answer_owners: Ints, source_owners: Ints, *, form: Form = "renormalised"
) -> Floats:
    """Return (spans, sources) contributions in nats; positive ones support the span.

    answer_owners: (answer tokens,) the span of every token, numbered from 0 (`range(tokens)` for single tokens), -1
    for none. source_owners: (prompt tokens,) the source of every token, -1 for none.
    """
    columns = column_contributions(rows, answer_owners, form=form)
    past = len(rows.prompt) - 1
    count = int(source_owners.max(initial=-1)) + 1
    members = np.arange(count)[:, None] == source_owners[None, :past]
    contributions: Floats = columns[:, :past] @ members.T.astype(np.float64)
    return contributions


def column_contributions(rows: AnswerRows, answer_owners: Ints, *, form: Form = "renormalised") -> Floats:
    """Return (spans, columns) contributions of single prompt tokens, all but the last.

    The renormalised form also has the columns of the rows themselves: the last prompt token, and all answer tokens but
    the last.
    """
    log_odds, tensor = rows.differentiable(answer_owners, by="values" if form == "plain" else "mask")
    gradients = []
    for span in range(len(log_odds)):
        (gradient,) = torch.autograd.grad(log_odds[span], tensor, retain_graph=span + 1 < len(log_odds))
        gradients.append(gradient.double().cpu().numpy())
    rows.charge(2 * len(rows.answer) * len(log_odds))
    table: Floats = np.stack(gradients)
    if not np.isfinite(table).all():
        raise Unsupported(
            phrase("errors.models.gradient_contributions", chat=rows.chat.name),
            expected=phrase("errors.models.finite_gradients"),
            got=phrase("errors.common.nan_or_infinity"),
        )
    return table if form == "plain" else table.sum(1)
