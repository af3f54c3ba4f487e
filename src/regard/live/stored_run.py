"""Stored run in the app: its examples, their pack, and the verdict beside every map."""

from __future__ import annotations

from regard.errors import UnknownName, phrase
from regard.live.pack_cache import CachedPack
from regard.present.pack.pack import pack_of_run, verdict_entry
from regard.present.pack.records import Pack, VerdictEntry
from regard.store.run import Run

MOST = 200
IN_A_FILE = 12
"""Examples of a run in the app, and in a file."""


def run_verdict(run: Run | None) -> VerdictEntry | None:
    """Return the verdict of the audit in the current language; none without a run."""
    judgements = [] if run is None else run.manifest.get("judgements") or []
    return verdict_entry(judgements[0] if judgements else None)


def cached_run_pack(run: Run, example: str | None) -> CachedPack:
    """Return the pack of a run with the stored rows of its examples."""

    def remake() -> Pack:
        return pack_of_run(run, ids=run_ids(run, example, MOST), lazy=True, budget_bytes=1 << 30)

    pack = remake()
    by_id = {e["id"]: e for e in run.examples()}
    rows = [by_id[e.id] for e in pack.manifest.examples]
    return CachedPack(pack, rows=rows, methods=tuple(run.methods()), remake=remake)


def run_ids(run: Run, example: str | None, most: int) -> list[str]:
    """Return the ids of run examples to show: the requested one, those with attention, then others."""
    stored = [str(e["id"]) for e in run.examples() if e["units"]]
    if example is not None and example not in stored:
        raise UnknownName(phrase("errors.common.example_this_run"), example, stored)
    requested = [] if example is None else [example]
    return [name for name in dict.fromkeys([*requested, *run.kept(), *stored]) if name in set(stored)][:most]
