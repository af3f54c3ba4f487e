"""`heads`: what every head of a model does on a corpus, how much it matters, and how healthy attention is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np

from regard.audits.repeatability import warning
from regard.audits.resolve import open_model
from regard.errors import RegardError
from regard.models.ask.repeated_tokens import repeated_tokens
from regard.models.ask.torch_module import torch_module
from regard.protocols import Dataset, Model, SiteAttention, Target
from regard.records import Example, Spec
from regard.registry import entry, names
from regard.surveys.heads.axes import Corpus
from regard.surveys.heads.findings import HeadRow, HeadSurvey, Measured, measured
from regard.surveys.heads.health import Health, NullSpaces, SiteHealth, States, warnings_of
from regard.surveys.heads.importance import batches, gradient_importance, switched_off
from regard.surveys.heads.importance import ranking as by_importance
from regard.surveys.heads.material import Material, material_of
from regard.surveys.heads.naming import Head, named_heads
from regard.surveys.heads.redundancy import Likeness
from regard.surveys.heads.removal import CurvePoint, pruning_curve
from regard.surveys.heads.roles import HeadScore, Role, Seen, judge
from regard.surveys.heads.streaming import Streamed, stream

PROBES = 32
"""Generated sequences on which causal heads are asked about repetition."""
OFFSETS = (-3, 2, 3)
"""Fixed offsets that are asked besides -2, -1 and 1."""
PARTS = 2
"""Examples whose values are looked at for the null space."""

Progress = Callable[[str, int, int], None]


def heads(
    model: str | Model,
    data: str | Dataset | Sequence[str | Example] | None = None,
    *,
    limit: int = 100,
    ablate: int = 32,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> HeadSurvey:
    """Scores, role, importance and redundancy of every head of `model` over `data`, and the health of its attention.

    data: a name, a file, a data set, or texts. limit: examples at most. ablate: examples on which heads are switched
    off one at a time and pruned (0: not at all; costs a forward per head and example). A role is given only where a
    head beats its baseline by enough, after correction for all heads and roles. One example is captured at a time, so
    memory does not grow with the corpus.
    """
    live = open_model(model, device)
    told = progress or (lambda what, done, total: None)
    material, gold, notes, name = material_of(live, model, data, limit, seed)
    notes = [*filter(None, [warning(live, material.examples[0])]), *notes]
    corpus = Corpus()
    for item in material.encoded:
        corpus.add(item)
    likeness, states = Likeness(seed), States(torch_module(live)) if torch_module.supports(live) else None
    specs = scores()

    nulls = NullSpaces(live)

    def also(i: int, sites: Sequence[SiteAttention]) -> None:
        likeness.add(i, sites)
        if i < PARTS and states is not None:
            nulls.add(material.encoded[i], material.targets[i], sites)

    n = len(material.encoded)
    first = live.capture(material.encoded[:1], material.targets[:1])
    with nullcontext() if states is None else states.watched([s.site.name for s in first.sites]):
        streamed = stream(
            live, material.encoded, material.targets, specs, corpus, also=also,
            progress=lambda done: told("maps", done, n),
        )  # fmt: skip
    found = named_heads(list(streamed.sites.values()))
    passes = [Seen(streamed, material.clusters, name)]
    probe = _probed(live, material, corpus, specs, seed) if any(h.site.kind == "causal" for h in found) else None
    passes += [] if probe is None else [probe]
    scored, roles = judge(passes, found, seed=seed)
    slopes, drops, curve = _importance(material, gold, found, ablate, seed, notes, told)
    groups = likeness.groups(found)
    health = _health(streamed, scored, roles, states, nulls)
    rows = [
        HeadRow(head.name, head.site.key, head.site.kind, head.site.layer, head.number, role, _word(head, scored),
                slopes.get(head.name), drops.get(head.name),
                next((i for i, g in enumerate(groups) if head.name in g.heads), None))
        for head, role in zip(found, roles, strict=True)
    ]  # fmt: skip
    clusters = int(material.clusters.max()) + 1
    return HeadSurvey(
        live.name, name, n, clusters, seed, tuple(rows), tuple(scored), tuple(groups), tuple(curve), health,
        (*notes, *live.notes),
    )  # fmt: skip


def scores() -> tuple[Spec, ...]:
    """Every head score, and `positional` at a few more offsets."""
    more = tuple(Spec("head", "positional", {"offset": offset}) for offset in OFFSETS)
    plain = tuple(Spec("head", name, {"offset": -2} if name == "positional" else {}) for name in names("head"))
    return plain + more


def _probed(live: Model, material: Material, corpus: Corpus, specs: Sequence[Spec], seed: int) -> Seen | None:
    items = repeated_tokens(live, material.encoded[0], n=PROBES, seed=seed)
    if not items:
        return None
    wanted = [spec for spec in specs if entry("head", spec.name).facts["probe"]]
    targets: list[Target] = []
    for batch in batches(items):
        targets += live.predict([items[i] for i in batch])[1]
    streamed: Streamed = stream(live, items, targets, wanted, corpus)
    return Seen(streamed, np.arange(len(items)), "repeated random tokens", probe=True)


def _importance(
    material: Material, gold: Sequence[int | None], found: Sequence[Head], ablate: int, seed: int, notes: list[str],
    told: Progress,
) -> tuple[dict[str, Measured], dict[str, Measured], list[CurvePoint]]:  # fmt: skip
    """Importance of every head by gradient and by switching it off, and the pruning curve.

    The order of pruning is learnt on one half of the clusters and judged on the other.
    """
    live, clusters = material.model, material.clusters
    halves = [np.flatnonzero(clusters % 2 == side).tolist() for side in (0, 1)]
    if not halves[1]:
        halves[1] = halves[0]
        notes.append("one independent example only: heads are ranked and judged on the same")
    slopes: dict[str, Measured] = {}
    ranked: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None
    ranking = material.some(halves[0])
    try:
        table = gradient_importance(
            live, ranking.encoded, ranking.targets, found,
            progress=lambda done: told("gradients", done, len(ranking.encoded)),
        )  # fmt: skip
        slopes = measured(table, ranking.clusters, found, seed)
        ranked = by_importance(table, found)
    except RegardError as reason:
        notes.append(f"no importance by gradient: {reason}")
    if ablate < 1:
        return slopes, {}, []
    judged = material.some(halves[1][:ablate])
    total = len(judged.encoded)
    try:
        off = switched_off(
            live, judged.encoded, judged.targets, found, progress=lambda done: told("switching heads off", done, total)
        )
    except RegardError as reason:
        notes.append(f"no importance by switching heads off: {reason}")
        return slopes, {}, []
    drops = measured(off.drop, judged.clusters, found, seed)
    if ranked is None:
        ranked = np.where(np.isfinite(off.drop).all(0), off.drop.mean(0), np.inf)  # what is unknown goes last
        notes.append("heads are pruned in the order of the drop, learnt on the examples that judge it")
    order = sorted(range(len(found)), key=lambda i: (round(float(ranked[i]), 6), i))
    curve = pruning_curve(
        live, judged.encoded, judged.targets, [gold[i] for i in halves[1][:ablate]],
        [e.cluster for e in judged.examples], found, order, seed=seed,
        progress=lambda done: told("pruning", done, 40),
    )  # fmt: skip
    return slopes, drops, curve


def _health(
    streamed: Streamed, scored: Sequence[HeadScore], roles: Sequence[Role], states: States | None, nulls: NullSpaces
) -> Health:
    rows = []
    for key, site in streamed.sites.items():
        mine = states.found.get(site.name, []) if states is not None else []
        null = nulls.found.get(key, [])
        cone, random = (_column(mine, at) for at in (0, 1))
        dimension, hidden, count = (_column(null, at) for at in (0, 1, 2))
        breadth, sink = (_over(streamed, key, score) for score in ("breadth", "sink"))
        rows.append(
            SiteHealth(key, site.kind, breadth, sink, cone, random, dimension, hidden, count, streamed.examples)
        )
    return Health(
        tuple(rows), tuple(warnings_of(rows, scored, {role.head for role in roles if role.name})), tuple(nulls.notes)
    )


def _column(rows: Sequence[tuple[float, ...]], at: int) -> float:
    return float(np.mean([row[at] for row in rows])) if rows else float("nan")


def _over(streamed: Streamed, key: str, score: str) -> float:
    """The mean of a score over the heads and examples of a site."""
    values = streamed.table(key, Spec("head", score), "value")
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _word(head: Head, scored: Sequence[HeadScore]) -> str:
    """broad or focused, where the whole interval says so."""
    found = next((s for s in scored if s.head == head.name and s.score == "breadth"), None)
    if found is None:
        return ""
    low, high = (found.low, found.high) if np.isfinite(found.low) else (found.estimate, found.estimate)
    return "broad" if low >= 0.8 else "focused" if high <= 0.4 else ""
