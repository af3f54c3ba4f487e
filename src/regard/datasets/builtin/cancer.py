"""`cancer`: a real medical table."""

from __future__ import annotations

import numpy as np

from regard.datasets import sampling
from regard.datasets.examples import Examples
from regard.datasets.packages import package_bytes
from regard.datasets.splits import split as part
from regard.records import Example, Message, frozen
from regard.registry import method

MEASURED = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
)
COLUMNS = (
    *(f"mean {name}" for name in MEASURED),
    *(f"{name} error" for name in MEASURED),
    *(f"worst {name}" for name in MEASURED),
)

FRACTIONS = {"train": 0.6, "dev": 0.1, "test": 0.3}


@method("dataset", modality="tabular", licence="BSD-3-Clause", package="scikit-learn", real=True)
def cancer(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
    """569 breast tumours with 30 measurements in their own units, malignant (0) or benign (1); 60/10/30.

    The table is small: a tenth of it would be too few tumours to judge a model by.

    Reference: Street, Wolberg & Mangasarian 1993 (UCI, Wisconsin Diagnostic).

    >>> data = cancer()
    >>> data.columns[0], data[0].inputs["row"].shape
    ('mean radius', (30,))
    """
    content = package_bytes(
        "sklearn",
        "datasets/data/breast_cancer.csv",
        sha256="fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
        needs="scikit-learn",
        remedy="pip install 'regard[data]'",
    )
    table = np.loadtxt(content.decode("ascii").splitlines()[1:], delimiter=",")
    by_id: dict[str, Example] = {}
    for row in table:
        ident = f"{sampling.key(0, row[:30].tobytes().hex()):016x}"[:12]
        by_id.setdefault(ident, Example(ident, {"row": frozen(row[:30])}, int(row[30])))
    items = part(by_id.values(), split, fractions=FRACTIONS)
    note = Message.of("data.cancer", all=len(by_id), split=split, n=len(items))
    sample = tuple(sampling.stratified(items, n, seed=seed))
    return Examples("cancer", sample, ("malignant", "benign"), (note,), columns=COLUMNS, modality="tabular")
