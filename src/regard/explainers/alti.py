"""ALTI: aggregation of layer-wise token-to-token interactions."""

from __future__ import annotations

from regard.desk.site_questions import decomposition
from regard.explainers._decomposition import alti_matrix
from regard.explainers._layer_product import through_layers
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Ferrando et al. 2022",
    formula="r = read rows of prod over layers of C, C_ij = max(0, ||y_i||_1 - ||y_i - T_i(x_j)||_1), rows / their sum",
    cost="1 forward, 1 per layer, and as many as there are heads; n x n x d per layer, some rows at a time",
    passes_per="layer",
    misleads="not class-specific: it shows which units reach the output position, not which support the prediction",
)
def alti(case: Case, *, renormalise: bool = True) -> Relevance:
    """Token-to-token contributions by distance to the layer output, multiplied through the layers.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    The matrix of a layer is max(0, ||y_i|| - ||y_i - T_i(x_j)||) in L1, rows divided by their sums: y_i is the position
    after attention, residual and LayerNorm (before LayerNorm in pre-norm models), T_i(x_j) the contribution of j to it.
    A pooling or the last cross-attention, if any, is a further factor; a model that only pools has that one factor.
    Extras, one value per example: `decomposition_error`, `special_mass`, `sites` (layers multiplied).

    >>> from regard.testing.toy import ToyCase
    >>> alti(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.98, 0.02]
    """
    return through_layers(
        case,
        "alti",
        decomposition,
        lambda parts: alti_matrix(parts, "alti"),
        error="decomposition_error",
        renormalise=renormalise,
    )
