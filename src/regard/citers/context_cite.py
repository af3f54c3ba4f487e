"""`context_cite`: a sparse linear model of the answer under random subsets of the sources."""

from __future__ import annotations

import numpy as np

from regard.measures.lasso import lasso
from regard.models.chat.answer_case import AnswerCase
from regard.records import Floats
from regard.registry import citer


@citer(
    unit="nats",
    needs=("deletion",),
    cite="Cohen-Wang et al. 2024",
    formula="LASSO of F(x with the sources of a random half, y) on the masks of these sources",
    cost="the plain pass and one pass per different mask",
    misleads="with few masks the weights are noisy; sources that only work together get a share each",
)
def context_cite(case: AnswerCase, *, masks: int = 32, alpha: float = 0.01) -> Floats:
    """Weights of a LASSO from random subsets of the sources to the log-odds of the answer.

    As in the paper, the log-odds are divided by the number of tokens while the penalty `alpha` acts.
    """
    subsets = case.rng("context_cite").random((masks, case.count)) < 0.5
    table = np.stack([case.base - case.deletion(*np.flatnonzero(~subset).tolist()) for subset in subsets])
    weights = []
    for span in range(len(case.spans)):
        tokens = int((case.owners == span).sum())
        weights.append(lasso(subsets.astype(np.float64), table[:, span] / tokens, alpha=alpha) * tokens)
    return np.stack(weights)
