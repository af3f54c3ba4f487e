"""`power`: real days of electricity demand."""

from __future__ import annotations

from regard.datasets import sampling
from regard.datasets.examples import Examples
from regard.datasets.series_file import packaged_series
from regard.datasets.splits import split as part
from regard.records import Example, Message
from regard.registry import method


@method("dataset", modality="series", licence="BSD-3-Clause", package="sktime==1.2.0", real=True)
def power(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
    """1,096 days of Italian power demand, 24 hours each, October to March (0) or April to September (1); 80/10/10.

    Each day is standardised, as in the archive. Its own split (67 days to learn from) is not used.
    Reference: Keogh et al. 2006; UCR archive, ItalyPowerDemand.
    """
    rows = packaged_series(
        "ItalyPowerDemand",
        sha256={
            "TRAIN": "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c",
            "TEST": "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144",
        },
    )
    by_id: dict[str, Example] = {}
    for series, label in rows:
        ident = f"{sampling.key(0, series.tobytes().hex()):016x}"[:12]
        by_id.setdefault(ident, Example(ident, {"series": series}, int(label) - 1))
    items = part(by_id.values(), split)
    note = Message.of("data.power", all=len(by_id), split=split, n=len(items))
    sample = tuple(sampling.stratified(items, n, seed=seed))
    labels = ("October to March", "April to September")
    return Examples("power", sample, labels, (note,), columns=("demand",), modality="series")
