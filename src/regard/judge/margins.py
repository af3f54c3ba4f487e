"""Thresholds of all rules, fixed in advance and printed with every verdict.

The margins were chosen on one half of a zoo of planted models and are a wide plateau there: .6 to .8 instead of .7 and
.02 to .10 instead of .05 change few verdicts. On natural text they are conventions.
"""

from __future__ import annotations

from typing import Final

from regard.records import Json

LEVEL: Final = 0.05
"""Every claim is a one-sided test at this level, by Holm's correction over the questions of an audit that make one."""
STRICT: Final = 0.01
"""The level at which a map is called flat or locked: there is nothing to read then, whatever else was found."""
FEWEST: Final = 12
"""Predictions of a class below which nothing is said about it."""
LENIENT: Final = 0.2
"""The level at which each class must hold (or fail) by itself where the claim is about all classes together."""
FEWEST_KEYS: Final = 3
EMPTY: Final = 0.05
"""Total variation: a map this close to equal weights, or to its own shuffled self, is none."""
MATTERS: Final = 0.05
DOES_NOT_MATTER: Final = 0.02
FOLLOWS: Final = 0.5
PASSES_BY: Final = 0.1
FOUND: Final = 0.05
"""Gain over random (in probability) below which no ranking has found anything: the class is a default."""
GOOD: Final = 0.7
POOR: Final = 0.3
"""Shares of the best other ranking's gain."""
AGREE: Final = 0.1
SOME_OTHER: Final = 0.2
MOST_OTHER: Final = 0.5
SET_ASIDE: Final = 0.2
"""With more than two classes: rare classes up to this share of the predictions are named and set aside."""
MIXED: Final = 0.1
"""Share of the inputs that must be right, and wrong, for a map to be right on some and wrong on others."""
MOSTLY: Final = 0.5

PRINTED: Final[dict[str, Json]] = {
    "level": LEVEL,
    "strict": STRICT,
    "fewest_predictions": FEWEST,
    "lenient": LENIENT,
    "fewest_units": FEWEST_KEYS,
    "empty": EMPTY,
    "matters": MATTERS,
    "does_not_matter": DOES_NOT_MATTER,
    "follows": FOLLOWS,
    "passes_by": PASSES_BY,
    "found": FOUND,
    "good": GOOD,
    "poor": POOR,
    "agree": AGREE,
    "some_other": SOME_OTHER,
    "most_other": MOST_OTHER,
    "mixed": MIXED,
    "mostly": MOSTLY,
}
