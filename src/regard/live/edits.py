"""Attention edits as the page sends them (an ordered JSON list), and the Spec that shares them.

"move" exists on the page only: a part of the weight of one key goes to another, in the row as it is under the edits
before it. The model receives the resulting row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, Text, UnknownName, phrase
from regard.live.jobs import positive
from regard.protocols import SiteAttention
from regard.records import Edit, Json, Spec

WHAT = ("uniform", "permute", "replace", "scale", "knock_out", "mask_heads")
MOST = 64
"""Maximum edits in one list."""
LARGEST = 1 << 20
"""Maximum numbers in the values of one replacement."""
FIELDS = {"what", "site", "heads", "queries", "keys", "factor", "seed", "values", "from", "to", "share"}

Weights = Callable[[Sequence[Edit]], Sequence[SiteAttention]]
"""Attention of the example under some edits."""


def compile_edits(given: object, weights: Weights) -> list[Edit]:
    """Translate the edits of a request into model edits.

    weights: the sites under the edits so far; called only if a move needs the row that it starts from.
    """
    if not isinstance(given, list) or len(given) > MOST:
        raise InputError("edits", expected=phrase("errors.live.list_at_most_edits", most=MOST), got=_short(given))
    edits: list[Edit] = []
    for number, one in enumerate(given):
        if not isinstance(one, dict):
            raise InputError(
                phrase("errors.live.edit_number", number=number),
                expected=phrase("errors.live.object_with_what_and_site"),
                got=_short(one),
            )
        unknown = sorted(set(one) - FIELDS)
        if unknown:
            raise UnknownName(phrase("errors.live.part_edit", number=number), str(unknown[0])[:40], FIELDS)
        edits += _moved(one, number, weights(edits)) if one.get("what") == "move" else [_edit(one, number)]
    return edits


def _edit(one: Mapping[str, Any], number: int) -> Edit:
    what = one.get("what")
    if what not in WHAT:
        raise UnknownName(phrase("errors.live.what_edit", number=number), str(what)[:40], (*WHAT, "move"))
    values = None
    if what == "replace":
        values = _values(one.get("values"), number)
    return Edit(
        what,
        site=_site(one, number),
        heads=_places(one, "heads", number),
        queries=_places(one, "queries", number),
        keys=_places(one, "keys", number),
        factor=_number(one.get("factor", 1.0), phrase("errors.live.factor_edit", number=number), 0, 100),
        seed=positive(one.get("seed", 0), phrase("errors.live.seed_edit", number=number)),
        values=values,
    )


def _moved(one: Mapping[str, Any], number: int, sites: Sequence[SiteAttention]) -> list[Edit]:
    """Return the rows after a move as replacement edits, one per query."""
    key, queries = _site(one, number), _places(one, "queries", number)
    site = next((s for s in sites if s.site.key == key), None)
    if site is None:
        raise UnknownName("site", key, [s.site.key for s in sites])
    _, heads, rows, keys = site.shape
    head_numbers = _places(one, "heads", number) or tuple(range(heads))
    away, onto = positive(one.get("from"), "from"), positive(one.get("to"), "to")
    share = _number(one.get("share", 1.0), phrase("errors.live.share_edit", number=number), 0, 1)
    for what, places, size in (
        ("heads", head_numbers, heads),
        ("queries", queries or (), rows),
        ("keys", (away, onto), keys),
    ):
        if any(p >= size for p in places):
            raise InputError(
                phrase("errors.live.edit_what", what=what, number=number),
                expected=phrase("errors.live.below_size", size=size),
                got=str(list(places))[:40],
            )
    rows_moved = range(rows) if queries is None else queries
    weights = np.array(site.rows(0, list(rows_moved), list(head_numbers)), np.float32)  # (head, query, key)
    visible = [row for row, query in enumerate(rows_moved) if site.site.kind != "causal" or onto <= query]
    if not visible:
        raise InputError(
            phrase("errors.live.edit_number", number=number),
            expected=phrase("errors.live.key_that_this_row_may"),
            got=phrase("errors.live.key_which_later", onto=onto),
        )
    amounts = weights[:, :, away] * share
    amounts[:, [row for row in range(weights.shape[1]) if row not in visible]] = 0.0
    weights[:, :, away] -= amounts
    weights[:, :, onto] += amounts
    return [Edit("replace", site=key, heads=head_numbers, queries=tuple(rows_moved), values=weights)]


def _site(one: Mapping[str, Any], number: int) -> str:
    site = one.get("site")
    if not isinstance(site, str) or not 0 < len(site) <= 200:
        raise InputError(
            phrase("errors.live.site_edit", number=number), expected=phrase("errors.live.key_site"), got=_short(site)
        )
    return site


def _places(one: Mapping[str, Any], name: str, number: int) -> tuple[int, ...] | None:
    places = one.get(name)
    if places is None:
        return None
    if not isinstance(places, list) or not places or len(places) > 65536:
        raise InputError(
            phrase("errors.live.edit_what", what=name, number=number),
            expected=phrase("errors.live.list_places"),
            got=_short(places),
        )
    return tuple(positive(place, phrase("errors.live.edit_what", what=name, number=number)) for place in places)


def _values(given: object, number: int) -> NDArray[np.float32]:
    try:
        values = np.asarray(given, np.float32)
    except (ValueError, TypeError) as problem:
        raise InputError(
            phrase("errors.live.values_edit", number=number),
            expected=phrase("errors.common.array_numbers"),
            got=_short(given),
        ) from problem
    if given is None or not 1 <= values.ndim <= 3 or values.size > LARGEST:
        raise InputError(
            phrase("errors.live.values_edit", number=number),
            expected=phrase("errors.live.heads_queries_keys"),
            got=phrase("errors.common.shape_shape", shape=values.shape),
        )
    if not np.isfinite(values).all() or (values < 0).any() or (values.sum(-1) > 1 + 1e-3).any():
        raise InputError(
            phrase("errors.live.values_edit", number=number),
            expected=phrase("errors.live.weights_or_more_with_sums"),
            got=phrase("errors.common.others"),
        )
    return values


def _number(given: object, what: Text, low: float, high: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise InputError(what, expected=phrase("errors.live.number_in_range", low=low, high=high), got=_short(given))
    return float(given)


def _short(given: object) -> Text:
    return f"{type(given).__name__} {str(given)[:40]}" if given is not None else phrase("errors.common.none")


def to_json(edit: Edit) -> dict[str, Json]:
    """Return an edit as JSON for the page.

    >>> to_json(Edit("knock_out", site="layer.0", heads=(1,), queries=(0,), keys=(2,)))
    {'what': 'knock_out', 'site': 'layer.0', 'heads': [1], 'queries': [0], 'keys': [2]}
    """
    fields: dict[str, Json] = {"what": edit.what, "site": edit.site}
    for name in ("heads", "queries", "keys"):
        places = getattr(edit, name)
        if places is not None:
            fields[name] = list(places)
    if edit.what == "scale":
        fields["factor"] = edit.factor
    if edit.what == "permute":
        fields["seed"] = edit.seed
    if edit.values is not None:
        fields["values"] = np.asarray(edit.values).astype(float).round(7).tolist()
    return fields


def shared_spec(model: str, fingerprint: str, inputs: Mapping[str, Any], methods: Sequence[str], edits: object) -> Spec:
    """Return a Spec that reproduces a view: model, text, methods and edits."""
    texts: dict[str, Json] = {name: inputs[name] for name in ("text", "text_pair") if isinstance(inputs.get(name), str)}
    listed: list[Json] = list(edits) if isinstance(edits, list) else []
    params: dict[str, Json] = {"model": model, "fingerprint": fingerprint, "methods": list(methods), "edits": listed}
    return Spec("edits", "attention", {**params, **texts})


def parsed_spec(value: object) -> Spec:
    """Parse a shared Spec; refuse anything else."""
    if not isinstance(value, dict) or value.get("kind") != "edits" or value.get("name") != "attention":
        raise InputError("spec", expected='{"kind": "edits", "name": "attention", "params": ...}', got=_short(value))
    params = value.get("params")
    if not isinstance(params, dict) or not isinstance(params.get("text"), str):
        raise InputError("spec", expected=phrase("errors.live.params_with_text"), got=_short(params))
    return Spec("edits", "attention", params)
