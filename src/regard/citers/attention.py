"""`attention`: the attention that the answer pays to each source."""

from __future__ import annotations

import numpy as np

from regard.models.chat.answer_case import AnswerCase
from regard.models.chat.attention_mass import attention_mass
from regard.records import Floats
from regard.registry import citer


@citer(
    unit="mass",
    needs=("attention",),
    role="picture",
    formula="s_c = mean over layers, heads and rows i of sum over j in c of a_ij",
    cost="the plain pass; the rows of the answer once more to capture them",
    misleads="long sources get more of it, and most of it does not move the answer",
)
def attention(case: AnswerCase) -> Floats:
    """Mean attention of the answer's rows on the tokens of each source: a picture, not a measured effect."""
    mass = case.ask("attention", lambda: attention_mass(case.rows), positions=len(case.reply.ids))
    members = np.arange(case.count)[:, None] == case.source_owners[None]
    by_token = mass @ members.T.astype(np.float64)
    return np.stack([by_token[case.owners == span].mean(0) for span in range(len(case.spans))])
