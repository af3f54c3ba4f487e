"""GlobEnc."""

from __future__ import annotations

from regard.desk.site_questions import decomposition
from regard.explainers._decomposition import norm_matrix
from regard.explainers._layer_product import through_layers
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Modarressi et al. 2022",
    formula="r = read rows of prod of N, N_ij = ||LN2(LN1(sum over heads a_ij v_j W_O + [i = j] x_i))||, rows / sum",
    cost="1 forward, 1 per layer, and as many as there are heads; one n x n product per layer",
    passes_per="layer",
    misleads="not class-specific: it shows which units reach the output position, not which support the prediction",
    differs="the authors' code multiplies the norms of the layers as they are; here the rows of each layer are first "
    "divided by their sums, so that no layer counts more because its vectors are longer",
)
def globenc(case: Case, *, renormalise: bool = True) -> Relevance:
    """Contribution norms with residual and both LayerNorms of each layer, multiplied through the layers.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    The matrix of a layer is || LN2(LN1(sum over heads of weight x value x W_O + x_i where j = i)) || with rows divided
    by their sums; of the feed-forward network only the second residual counts, as in the paper. In pre-norm models no
    LayerNorm follows the sum, and the matrix is that of `value_norms_residual`. A pooling or the last cross-attention,
    if any, is a further factor. For a model that only pools: `value_norms`.
    Extras, one value per example: `decomposition_error`, `special_mass`, `sites` (layers multiplied).

    >>> from regard.testing.toy import ToyCase
    >>> globenc(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.98, 0.02]
    """
    return through_layers(
        case,
        "globenc",
        decomposition,
        lambda parts: norm_matrix(parts, "globenc", norms=None),
        error="decomposition_error",
        renormalise=renormalise,
    )
