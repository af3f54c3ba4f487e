"""`credit`: fictional loans whose risk depends on known columns."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.generated import Draft, Drawn, generated, note, share
from regard.records import Floats, frozen
from regard.registry import method

COLUMNS = (
    "age",
    "monthly income",
    "years employed",
    "months at address",
    "loan amount",
    "term in months",
    "debt to income",
    "credit utilisation",
    "late payments",
    "savings in months of income",
    "open accounts",
    "inquiries in last year",
    "distance to branch",
)
LATE, DEBT, SAVINGS = COLUMNS.index("late payments"), COLUMNS.index("debt to income"), 9
USE, EMPLOYED, BRANCH = COLUMNS.index("credit utilisation"), COLUMNS.index("years employed"), 12
RULES: tuple[tuple[tuple[int, str, float], ...], ...] = (
    ((LATE, ">=", 3),),
    ((DEBT, ">=", 0.45), (SAVINGS, "<", 2)),
    ((USE, ">=", 0.8), (EMPLOYED, "<", 1)),
)
"""A loan is risky if all conditions of any rule hold."""


@method("dataset", modality="tabular", licence="Apache-2.0", package="", real=False)
def credit(
    *, split: str = "test", n: int = 1000, seed: int = 0, noise: float = 0.05, shortcut: float = 0.0
) -> Examples:
    """Generated loans without real persons: repaid (0) or defaulted (1), by a rule on 5 of 13 columns.

    Defaulted: 3 or more late payments; or debt of 45 % of income with savings below 2 months; or 80 % of the credit
    used and employed for less than a year. Rationale = the columns of the rules that hold, or, if none holds, those
    whose conditions fail. noise: share of flipped labels (slice "noise"). shortcut: share of loans whose distance to
    the branch reveals the label in the train split and is random elsewhere (slice "shortcut": none, agrees, disagrees).

    >>> data = credit(n=2)
    >>> [data.columns[int(c)] for (c,) in data[1].rationale]
    ['years employed', 'credit utilisation']
    """
    share("credit.noise", noise)
    share("credit.shortcut", shortcut)

    def draw(rng: np.random.Generator, number: int) -> Drawn:
        applicant = int(rng.integers(2**62))
        true_label = number % 2

        def make() -> list[Draft]:
            row = _row(rng)
            while truth(row) != true_label:
                row = _row(rng)
            turned = bool(rng.random() < noise)
            label = 1 - true_label if turned else true_label
            slices = {"noise": "turned" if turned else "none"}
            if shortcut:
                slices["shortcut"] = "none"
                if rng.random() < shortcut:
                    side = label if split == "train" else int(rng.integers(2))
                    # in kilometres: whoever defaults lives far away
                    row[BRANCH] = (int(rng.integers(200)) + 200 * side) / 10
                    slices["shortcut"] = "agrees" if side == label else "disagrees"
            return [Draft({"row": frozen(row)}, label, tuple((float(c),) for c in decisive(row)), slices)]

        return Drawn(str(applicant), make)

    items = generated("credit", draw, split=split, n=n, seed=seed, settings=(noise, shortcut))
    provenance = note("loans", n, split=split, seed=seed, known="rule")
    return Examples("credit", items, ("repaid", "defaulted"), (provenance,), columns=COLUMNS, modality="tabular")


def truth(row: Floats) -> int:
    """Return the label by the rules alone."""
    return int(any(all(_holds(row, condition) for condition in rule) for rule in RULES))


def decisive(row: Floats) -> tuple[int, ...]:
    """Return the columns of the rules that hold; if none holds, the columns whose conditions fail."""
    rules = [rule for rule in RULES if all(_holds(row, condition) for condition in rule)]
    conditions = [c for rule in rules or RULES for c in rule if rules or not _holds(row, c)]
    return tuple(sorted({column for column, _, _ in conditions}))


def _holds(row: Floats, condition: tuple[int, str, float]) -> bool:
    column, comparison, bound = condition
    return bool(row[column] >= bound if comparison == ">=" else row[column] < bound)


def _row(rng: np.random.Generator) -> Floats:
    """Return a plausible applicant: higher incomes borrow more, older applicants have worked longer."""
    age = int(rng.integers(20, 76))
    income = float(np.round(np.exp(rng.normal(8.0, 0.4)), -1))
    employed = float(np.round(min(rng.exponential(1.0 + age / 20), age - 18), 1))
    loan = float(np.round(income * rng.uniform(1, 12), -2))
    return np.array(
        [
            age,
            income,
            employed,
            int(rng.integers(1, 240)),
            loan,
            int(rng.choice([12, 24, 36, 48, 60])),
            np.round(rng.beta(2.5, 4.5), 2),
            np.round(rng.beta(1.8, 1.3), 2),
            int(min(rng.poisson(1.0), 9)),
            np.round(rng.exponential(3.5), 1),
            int(rng.integers(1, 13)),
            int(rng.poisson(1.5)),
            np.round(rng.uniform(0, 40), 1),
        ],
        dtype=np.float64,
    )
