"""Draw one example coloured by one method, whatever its modality: the kind of place decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.present.report.drawings.boxes import boxes
from regard.present.report.drawings.columns import columns
from regard.present.report.drawings.ranges import ranges
from regard.present.report.drawings.spans import spans
from regard.present.report.markup import Html
from regard.records import Floats

Draw = Callable[[Mapping[str, Any], Floats, bool], Html]
BY_PLACE: Mapping[str, Draw] = {"span": spans, "box": boxes, "range": ranges, "column": columns}


def unit_drawing(example: Mapping[str, Any], values: ArrayLike, *, signed: bool) -> Html:
    """The example with every unit coloured by its relevance, scaled to the strongest unit of this method."""
    return BY_PLACE[example["units"]["place_kind"]](example, np.asarray(values, np.float64), signed)
