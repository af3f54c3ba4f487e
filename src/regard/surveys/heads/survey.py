"""`heads`: role and importance of every head of a model on a corpus, and the health of its attention."""

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
from regard.records import Example, Message, Spec, Text
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
from regard.surveys.heads.retrieval import retrieval_check
from regard.surveys.heads.roles import HeadScore, Role, Seen, judge
from regard.surveys.heads.streaming import Streamed, stream

PROBES = 32
"""Number of generated sequences for the repetition scores of causal heads."""
OFFSETS = (-3, 2, 3)
"""Fixed offsets to score besides -2, -1 and 1."""
PARTS = 2
"""Examples whose values are used for the null space."""

Progress = Callable[[Text, int, int], None]


def heads(
    model: str | Model,
    data: str | Dataset | Sequence[str | Example] | None = None,
    *,
    limit: int = 100,
    ablate: int = 32,
    seed: int = 0,
    device: str = "auto",
    labels: str | None = None,
    progress: Progress | None = None,
) -> HeadSurvey:
    """Scores, role, importance and redundancy of every head of `model` over `data`, and the health of its attention.

    data: a name, a file, a data set, or texts. limit: examples at most. ablate: examples on which heads are switched
    off one at a time and pruned (0: not at all; costs a forward per head and example). labels: labels of the data as
    classes of the model (neg=0,pos=1). A role is given only where a
    head beats its baseline by enough, after correction for all heads and roles. One example is captured at a time, so
    memory does not grow with the corpus.
    """
    live = open_model(model, device)
    report_progress = progress or (lambda what, done, total: None)
    material, gold, notes, name = material_of(live, model, data, limit, seed, labels=labels)
    notes = [*[text for text in [warning(live, material.examples[0])] if text], *notes]
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
            live,
            material.encoded,
            material.targets,
            specs,
            corpus,
            also=also,
            progress=lambda done: report_progress(Message("heads.progress.maps"), done, n),
        )
    all_heads = named_heads(list(streamed.sites.values()))
    passes = [Seen(streamed, material.clusters, name)]
    probe = _probed(live, material, corpus, specs, seed) if any(h.site.kind == "causal" for h in all_heads) else None
    passes += [] if probe is None else [probe]
    scored, roles = judge(passes, all_heads, seed=seed)
    slopes, drops, curve = _importance(
        material, gold, found=all_heads, ablate=ablate, seed=seed, notes=notes, told=report_progress
    )
    retrieval = None
    if ablate >= 1:
        report_progress(Message("heads.progress.copying"), 0, 1)
        try:
            retrieval = retrieval_check(live, material.encoded[0], all_heads, scored, n=PROBES, seed=seed)
        except RegardError as reason:
            notes.append(Message.of("heads.note.no_retrieval", reason=str(reason)))
    groups = likeness.groups(all_heads)
    health = _health(streamed, scored, roles, states, nulls)
    rows = [
        HeadRow(
            name=head.name,
            site=head.site.key,
            kind=head.site.kind,
            layer=head.site.layer,
            number=head.number,
            role=role,
            spread=_word(head, scored),
            slope=slopes.get(head.name),
            drop=drops.get(head.name),
            group=next((i for i, g in enumerate(groups) if head.name in g.heads), None),
        )
        for head, role in zip(all_heads, roles, strict=True)
    ]
    clusters = int(material.clusters.max()) + 1
    return HeadSurvey(
        model=live.name,
        data=name,
        n=n,
        clusters=clusters,
        seed=seed,
        heads=tuple(rows),
        scores=tuple(scored),
        groups=tuple(groups),
        curve=tuple(curve),
        health=health,
        notes=(*notes, *live.notes),
        retrieval=retrieval,
    )


def scores() -> tuple[Spec, ...]:
    """Every head score, and `positional` at a few more offsets."""
    more = tuple(Spec("head", "positional", {"offset": offset}) for offset in OFFSETS)
    plain = tuple(Spec("head", name, {"offset": -2} if name == "positional" else {}) for name in names("head"))
    return plain + more


def _probed(live: Model, material: Material, corpus: Corpus, specs: Sequence[Spec], seed: int) -> Seen | None:
    items = repeated_tokens(live, material.encoded[0], n=PROBES, seed=seed)
    if not items:
        return None
    probe_specs = [spec for spec in specs if entry("head", spec.name).facts["probe"]]
    targets: list[Target] = []
    for batch in batches(items):
        targets += live.predict([items[i] for i in batch])[1]
    streamed: Streamed = stream(live, items, targets, probe_specs, corpus)
    return Seen(streamed, np.arange(len(items)), Message("heads.on.repeated_tokens"), probe=True)


def _importance(
    material: Material,
    gold: Sequence[int | None],
    found: Sequence[Head],
    ablate: int,
    seed: int,
    notes: list[Text],
    told: Progress,
) -> tuple[dict[str, Measured], dict[str, Measured], list[CurvePoint]]:
    """Importance of every head by gradient and by switching it off, and the pruning curve.

    The pruning order is learned on one half of the clusters and judged on the other.
    """
    live, clusters = material.model, material.clusters
    halves = [np.flatnonzero(clusters % 2 == side).tolist() for side in (0, 1)]
    if not halves[1]:
        halves[1] = halves[0]
        notes.append(Message("heads.note.one_judged"))
    slopes: dict[str, Measured] = {}
    ranked: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None
    ranking = material.some(halves[0])
    try:
        table = gradient_importance(
            live,
            ranking.encoded,
            ranking.targets,
            found,
            progress=lambda done: told(Message("heads.progress.gradients"), done, len(ranking.encoded)),
        )
        slopes = measured(table, ranking.clusters, found, seed)
        ranked = by_importance(table, found)
    except RegardError as reason:
        notes.append(Message.of("heads.note.no_gradient", reason=str(reason)))
    if ablate < 1:
        return slopes, {}, []
    held_out = material.some(halves[1][:ablate])
    total = len(held_out.encoded)
    try:
        off = switched_off(
            live,
            held_out.encoded,
            held_out.targets,
            found,
            progress=lambda done: told(Message("heads.progress.off"), done, total),
        )
    except RegardError as reason:
        notes.append(Message.of("heads.note.no_drop", reason=str(reason)))
        return slopes, {}, []
    drops = measured(off.drop, held_out.clusters, found, seed)
    if ranked is None:
        ranked = np.where(np.isfinite(off.drop).all(0), off.drop.mean(0), np.inf)  # what is unknown goes last
        notes.append(Message("heads.note.order_of_drop"))
    order = sorted(range(len(found)), key=lambda i: (round(float(ranked[i]), 6), i))
    curve = pruning_curve(
        live,
        held_out.encoded,
        targets=held_out.targets,
        gold=[gold[i] for i in halves[1][:ablate]],
        clusters=[e.cluster for e in held_out.examples],
        heads=found,
        ranking=order,
        seed=seed,
        progress=lambda done: told(Message("heads.progress.pruning"), done, 40),
    )
    return slopes, drops, curve


def _health(
    streamed: Streamed, scored: Sequence[HeadScore], roles: Sequence[Role], states: States | None, nulls: NullSpaces
) -> Health:
    rows = []
    for key, site in streamed.sites.items():
        site_states = states.found.get(site.name, []) if states is not None else []
        null = nulls.found.get(key, [])
        cone, random = (_column(site_states, at) for at in (0, 1))
        dimension, hidden, count = (_column(null, at) for at in (0, 1, 2))
        breadth, sink = (_over(streamed, key, score) for score in ("breadth", "sink"))
        rows.append(
            SiteHealth(
                site=key,
                kind=site.kind,
                breadth=breadth,
                sink=sink,
                conicity=cone,
                conicity_of_random=random,
                null_dimension=dimension,
                unseen=hidden,
                keys=count,
                n=streamed.examples,
            )
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
    """ "broad" or "focused", if the whole interval supports it."""
    breadth = next((s for s in scored if s.head == head.name and s.score == "breadth"), None)
    if breadth is None:
        return ""
    low, high = (breadth.low, breadth.high) if np.isfinite(breadth.low) else (breadth.estimate, breadth.estimate)
    return "broad" if low >= 0.8 else "focused" if high <= 0.4 else ""
