"""Value zeroing."""

from __future__ import annotations

from regard.desk.site_questions import zeroed_values
from regard.explainers._layer_product import through_layers
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Mohebbi et al. 2023",
    formula="r = read rows of prod over layers of Z, Z_ij = 1 - cos(y_i, y_i with v_j = 0), rows / their sum",
    cost="1 forward, 1 per layer, and as many as there are units",
    misleads="not class-specific; cosine distance ignores changes of length",
)
def value_zeroing(case: Case, *, renormalise: bool = True) -> Relevance:
    """Cosine distance of each layer's output when one unit's value is zeroed, multiplied through the layers.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    The matrix of a layer is 1 - cosine(y_i, y_i with the value of j zeroed in all heads), y_i being the output of the
    whole layer with its feed-forward network; rows divided by their sums. Queries, keys and the residual stay. A
    pooling or the last cross-attention, if any, is a further factor. For a model that only pools: 1 - cosine of the
    pooled state with and without the unit.
    Extras, one value per example: `layer_error` (error of reproducing the unchanged layer outputs), `special_mass`,
    `sites` (layers multiplied).

    >>> from regard.testing.toy import ToyCase
    >>> value_zeroing(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.76, 0.24]
    """
    return through_layers(
        case, "value_zeroing", zeroed_values, lambda seen: seen.distance, error="layer_error", renormalise=renormalise
    )
