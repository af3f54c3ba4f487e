"""Sub-word units gathered into words: the one declared aggregation is the sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.records import Floats


def gathered(example: Mapping[str, Any], values: Floats) -> tuple[dict[str, Any], Floats]:
    """Merge units by group and sum their values; skip special units."""
    units = example["units"]
    members: dict[tuple[int, int], list[int]] = {}
    for i, group in enumerate(units["groups"]):
        if not units["special"][i] and group >= 0:
            members.setdefault((int(units["part"][i]), int(group)), []).append(i)
    texts = (example["inputs"].get("text"), example["inputs"].get("text_pair"))
    names, places = [], []
    for (part, _), inside in members.items():
        start = min(float(units["places"][i][0]) for i in inside)
        stop = max(float(units["places"][i][-1]) for i in inside)
        whole = texts[part] if part < 2 else None
        in_text = units["place_kind"] == "span" and isinstance(whole, str) and stop > start
        names.append(str(whole)[int(start) : int(stop)] if in_text else "".join(units["names"][i] for i in inside))
        places.append([start, stop])
    count = len(names)
    word_units = {
        "names": names,
        "kind": "word",
        "place_kind": units["place_kind"],
        "places": places,
        "special": [False] * count,
        "groups": list(range(count)),
        "part": [part for part, _ in members],
        "shape": [count],
    }
    sums = np.asarray([float(sum(values[i] for i in inside)) for inside in members.values()])
    return {**example, "units": word_units}, sums
