"""Thresholds of the further questions (other networks, other methods, noise), fixed in advance.

They are conventions; no planted model was used to choose them. The further questions never decide the reading.
"""

from __future__ import annotations

from typing import Final

from regard.records import Json

FARTHER: Final = 0.05
"""Nats by which other attention must be farther away than siblings are, to be more than what a seed does."""
ALIKE: Final = 0.3
UNLIKE: Final = 0.7
"""Shares of a distance: between maps of siblings, of that to the own map in another order; under noise, of its size."""
HELPS: Final = 0.02
"""Accuracy that a bag of words gains under this attention, over equal weights."""
NEEDED: Final = 0.03
"""Accuracy that is lost when the network is trained under equal weights."""
HIDDEN: Final = 0.05
"""Attention on words below which they are hidden; and change of the answer above which they are used."""
BEATS: Final = 0.05
"""How much better than random words (in probability) a method's or a head's words must be, to be worth reading."""
REMEMBERS: Final = 0.7
"""Rank correlation with the explanation of a model that forgot everything: above it a method shows no model."""

PRINTED_BESIDE: Final[dict[str, Json]] = {
    "farther": FARTHER,
    "alike": ALIKE,
    "unlike": UNLIKE,
    "helps": HELPS,
    "needed": NEEDED,
    "hidden": HIDDEN,
    "beats": BEATS,
    "remembers": REMEMBERS,
}
