"""Attacks: methods that search for the smallest input change that flips the prediction. One method, one file.

An attack combines a goal, constraints, a transformation and a search (TextAttack's terms); goal,
constraints and the query budget are the `Threat`, the same for every attack, so that attacks can be compared.
"""

from regard.attacks._lockstep import Search, lockstep_search
from regard.attacks._text import Text

__all__ = ["Search", "Text", "lockstep_search"]
