"""Summaries of a stored run, recomputed from its tables and compared with the stored ones before use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from regard.audits.fold import fold
from regard.errors import InputError, phrase
from regard.records import Json, Spec, Summary, Text
from regard.registry import names
from regard.store.ledger import canonical
from regard.store.run import Run

NUMBERS = ("estimate", "n", "clusters", "undefined", "seed", "level")
ENDS = ("low", "high")
SAME_INTERVALS = 3
"""First version of the conclusions with the current intervals; those of older runs are recomputed."""
CLOSE = 1e-9
"""Maximum distance, absolute or relative, of a stored number from the recomputed one."""
Key = tuple[str, str, str]
_CHECKED: WeakKeyDictionary[Run, list[Summary]] = WeakKeyDictionary()
"""Cache of checked runs: an open run does not change."""


def summaries_from_tables(run: Run) -> list[Summary]:
    """Fold the per-example scores of a run: over all examples, per predicted class and per slice."""
    manifest, rows = run.manifest, run.examples()
    specs = [Spec.from_json(spec) for spec in manifest.get("settings", {}).get("explainers", [])]
    slices = {str(row["id"]): dict(row.get("slices") or {}) for row in rows}
    columns = sorted({str(column) for own in slices.values() for column in own})
    return fold(
        run.scores(),
        clusters={str(row["id"]): str(row["cluster"]) for row in rows},
        classes={str(row["id"]): str(row["predicted"]) for row in rows if row["predicted"] is not None},
        slices=[{name: f"{c}={own[c]}" for name, own in slices.items() if c in own} for c in columns],
        seed=int(manifest["seed"]),
        specs=dict(zip(map(str, manifest.get("methods", [])), specs, strict=False)),
    )


def checked_summaries(run: Run) -> list[Summary]:
    """Return the stored summaries of a run; raise `InputError` if they do not follow from its tables.

    Intervals of runs older than the current interval code are recomputed from the tables.
    """
    if run not in _CHECKED:
        _CHECKED[run] = _checked(run)
    return _CHECKED[run]


def _checked(run: Run) -> list[Summary]:
    stored = run.summaries()
    if not stored and run.manifest["status"] != "complete":
        return []
    computed = {_key(s): s for s in summaries_from_tables(run)}
    recent = (run.conclusions() or {}).get("version", 0) >= SAME_INTERVALS
    numbers = (*NUMBERS, *ENDS) if recent else NUMBERS
    wrong = [*_differing(stored, computed, numbers), *_missing(stored, computed)]
    if wrong:
        first: Text = wrong[0]
        if len(wrong) > 1:
            first = phrase("errors.audits.and_more_summaries", first=first, n=len(wrong) - 1)
        raise InputError(
            phrase("errors.audits.summaries_run", run=run.path),
            expected=phrase("errors.audits.numbers_that_follow_from_tables"),
            got=first,
            remedy=phrase("errors.audits.repeat_audit_command_with_same"),
        )
    return stored if recent else [computed[_key(s)] for s in stored]


def _key(summary: Summary) -> Key:
    """Return the identity of a summary. Fractions are measured, not chosen, so they do not distinguish summaries."""
    setting = {name: value for name, value in summary.where.items() if not isinstance(value, float)}
    return summary.metric, summary.method, canonical(setting)


def _differing(stored: Iterable[Summary], computed: Mapping[Key, Summary], numbers: Sequence[str]) -> Iterable[Text]:
    keys = set[Key]()
    for summary in stored:
        other = computed.get(_key(summary))
        if other is None or _key(summary) in keys:
            twice = phrase("errors.common.twice_twice", twice=_named(summary))
            yield twice if other else phrase("errors.audits.summary_without_score", summary=_named(summary))
            continue
        keys.add(_key(summary))
        for name in numbers:
            if not _same(getattr(summary, name), getattr(other, name)):
                yield phrase(
                    "errors.audits.other_number_stored",
                    summary=_named(summary),
                    name=name,
                    stored=getattr(summary, name),
                    computed=getattr(other, name),
                )
        if not _same_setting(summary, other):
            yield phrase("errors.audits.other_setting_stored", summary=_named(summary))


def _missing(stored: Iterable[Summary], computed: Mapping[Key, Summary]) -> Iterable[Text]:
    stored_keys = {_key(s) for s in stored}
    return (
        phrase("errors.audits.no_such_summary", summary=_named(s))
        for key, s in computed.items()
        if key not in stored_keys
    )


def _same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)


def _same_setting(one: Summary, other: Summary) -> bool:
    """Compare direction, part and measured columns; the role of a method is unknown without its plug-in."""
    built_in = one.metric in names("metric") and Spec.parse("explainer", one.method).name in names("explainer")
    if one.better != other.better or (built_in and one.role != other.role) or set(one.where) != set(other.where):
        return False
    return all(_same_value(value, other.where[name]) for name, value in one.where.items())


def _same_value(one: Json, other: Json) -> bool:
    return _same(one, other) if isinstance(one, float) and isinstance(other, float) else one == other


def _named(summary: Summary) -> str:
    setting = [f"{k} {v}" for k, v in summary.where.items() if isinstance(v, str | int)]
    return f"{summary.metric} of {summary.method}" + (f" ({', '.join(setting)})" if setting else "")
