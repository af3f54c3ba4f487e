"""The budget of an audit: a length of time, a number of passes, or no limit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from regard.errors import InputError, phrase

DEFAULT = "5m"
"""Default budget of an audit that names neither a budget nor a profile."""
NONE = "none"
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|-?\s*passes)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
EXPECTED = phrase("errors.audits.time_number_passes_passes")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limit of an audit: `seconds` or `passes`, at most one of them; neither means no limit.

    A pass is one example through the model; a gradient counts as two more (see `passes_of`).
    """

    text: str
    seconds: float | None = None
    passes: int | None = None

    @property
    def unlimited(self) -> bool:
        return self.seconds is None and self.passes is None

    def less(self, seconds: float) -> Budget:
        """The budget after some seconds are spent, at least half of it; one in passes stays as it is.

        Half, because a model that is trained or unpacked at its first use would leave nothing to audit it with.

        >>> Budget("60s", 60.0).less(15.0).seconds, Budget("60s", 60.0).less(300.0).seconds
        (45.0, 30.0)
        """
        return self if self.seconds is None else replace(self, seconds=max(self.seconds / 2, self.seconds - seconds))

    def halved(self) -> Budget:
        """Return half of the budget: an audit of two data sets spends as much on each."""
        return Budget(
            self.text,
            None if self.seconds is None else self.seconds / 2,
            None if self.passes is None else self.passes // 2,
        )

    @staticmethod
    def parse(text: str) -> Budget:
        """
        >>> Budget.parse("90s").seconds, Budget.parse("5000-passes").passes, Budget.parse("none").unlimited
        (90.0, 5000, True)
        """
        if text == NONE:
            return Budget(text)
        form = _FORM.fullmatch(text.strip().lower())
        number = float(form[1]) if form else 0.0
        if form is None or not number:
            raise InputError("budget", expected=EXPECTED, got=repr(text))
        if form[2] in _SECONDS:
            return Budget(text, seconds=number * _SECONDS[form[2]])
        return Budget(text, passes=int(number))
