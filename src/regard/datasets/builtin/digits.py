"""`digits`: real handwritten digits."""

from __future__ import annotations

import numpy as np

from regard.datasets import sampling
from regard.datasets.examples import Examples
from regard.datasets.packages import package_bytes
from regard.datasets.splits import split as part
from regard.records import Example, Message, frozen
from regard.registry import method


@method("dataset", modality="image", licence="BSD-3-Clause", package="scikit-learn", real=True)
def digits(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
    """1,797 images of handwritten digits, 8 x 8 with brightness 0..1, labels 0 to 9; train 80 %, dev 10 %, test 10 %.

    Reference: Alpaydin & Kaynak 1998 (UCI).

    >>> data = digits(n=5)
    >>> data[0].inputs["image"].shape, len(data)
    ((8, 8), 5)
    """
    content = package_bytes(
        "sklearn",
        "datasets/data/digits.csv.gz",
        sha256="6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
        needs="scikit-learn",
        remedy="pip install 'regard[data]'",
    )
    table = np.loadtxt(content.decode("ascii").splitlines(), delimiter=",")
    by_id: dict[str, Example] = {}
    for row in table:
        image = frozen(row[:64].reshape(8, 8) / 16)
        # the id is the picture itself, so that equal pictures can never be on both sides of a split
        ident = f"{sampling.key(0, row[:64].astype(np.uint8).tobytes().hex()):016x}"[:12]
        by_id.setdefault(ident, Example(ident, {"image": image}, int(row[64])))
    items = part(by_id.values(), split)
    note = Message.of("data.digits", all=len(by_id), split=split, n=len(items))
    names = tuple(map(str, range(10)))
    return Examples("digits", tuple(sampling.stratified(items, n, seed=seed)), names, (note,), modality="image")
