"""Comparison with siblings: other networks trained for the same task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, RegardError, Unsupported, phrase
from regard.experiments._finding import finding
from regard.experiments._leave_one_out import lost_without
from regard.experiments._map import maps, setting
from regard.experiments._rankings import first
from regard.measures.divergence import jsd, tvd
from regard.measures.keyed_random import keyed_rng
from regard.networks.family import is_family, read_family
from regard.protocols import Findings, Model, Study
from regard.records import Example, Floats, Json
from regard.registry import experiment

AT_ONCE = 32
"""Examples whose answers are cached together."""
KINDS = ("attention", "own attention", "best")


@experiment(
    question="Do networks trained for the same task attend to the same words, and do they depend on this network's "
    "top words?",
    needs=("attention", "removal"),
    scope="study",
    cite="seeds: Wiegreffe & Pinter 2019, 3.3",
    formula="JSD(attention of the sibling, attention); and p of the sibling without a random unit, minus p without the "
    "unit that the audited network looks at most",
    cost="2 forwards per unit and sibling; trains nothing",
    misleads="siblings may agree on a map on which none of their predictions depends; one sibling is no sample",
)
def siblings(
    study: Study, *, folders: tuple[str, ...] = (), layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Divergence of siblings' attention maps, and effect on siblings of removing this network's top unit.

    folders: models, or families of `regard train --seeds N`, whose members count one by one; the audited one is left
    out. Returns, per example, with the column `seeds` (examples, siblings): `seed_jsd` and `seed_change` (medians,
    as in `seed_variance`), `seed_jsd_chance` (for the own map in another order), and `transfer_gain` (mean): how much
    more the sibling's prediction loses without the unit that `attention` of the audited network, the sibling's `own
    attention`, or the `best` single unit puts first, than without a random one; the best is found by one operator and
    judged by the other. Examples that a sibling cuts into other units are undefined.
    """
    others = _opened(folders, study.model)
    columns: dict[str, list[Floats]] = {name: [] for name in ("jsd", "change", *KINDS)}
    chance: list[Floats] = []
    for k in range(0, len(study.examples), AT_ONCE):
        examples = study.examples[k : k + AT_ONCE]
        base = _case(study.model, examples, study.seed)
        alphas, distribution = [m.alpha for m in maps(base, layers, heads, "siblings")], base.base().distribution
        if distribution is None:
            raise Unsupported(
                phrase("errors.experiments.experiment_siblings"),
                expected=phrase("errors.common.classifier"),
                got=phrase("errors.common.another_task"),
            )
        chance.append(np.array([_shuffled(a, study.seed, e.id) for a, e in zip(alphas, examples, strict=True)]))
        rows = [
            _beside(
                base, alphas, said=distribution, other=_case(other, examples, study.seed), layers=layers, heads=heads
            )
            for other in others
        ]
        for name in columns:
            columns[name].append(np.stack([row[name] for row in rows], -1))
    tables = {name: np.concatenate(parts) for name, parts in columns.items()}
    if np.isnan(tables["jsd"]).all():
        raise Unsupported(
            phrase("errors.experiments.experiment_siblings"),
            expected=phrase("errors.experiments.siblings_with_same_units"),
            got=phrase("errors.experiments.other_units"),
        )
    ids = tuple(e.id for e in study.examples)
    where: dict[str, Json] = setting(layers, heads, siblings=[m.name for m in others])
    scores = [
        finding("seed_jsd", ids, _median(tables["jsd"]), where, curves={"seeds": tables["jsd"]}),
        finding("seed_change", ids, _median(tables["change"]), where, curves={"seeds": tables["change"]}),
        finding("seed_jsd_chance", ids, np.concatenate(chance), {**where, "role": "null"}),
    ]
    roles = {"attention": "method", "own attention": "method", "best": "ceiling"}
    for kind in KINDS:
        at: dict[str, Json] = {**where, "role": roles[kind]}
        scores.append(
            finding("transfer_gain", ids, _mean(tables[kind]), at, method=kind, curves={"seeds": tables[kind]})
        )
    return scores


def _opened(folders: Sequence[str], model: Model) -> list[Model]:
    from regard.models.open.load import load

    if not folders:
        raise Unsupported(
            phrase("errors.experiments.experiment_siblings"),
            expected=phrase("errors.experiments.directories_other_models"),
            got=phrase("errors.common.none"),
            remedy="--siblings DIR ...",
        )
    models: dict[str, Model] = {}
    for folder in folders:
        home = Path(folder).expanduser()
        members = [str(home / name) for name in read_family(home).members] if is_family(home) else [folder]
        for member in members:
            try:
                other = load(member, device="cpu")
            except RegardError as error:
                raise InputError(
                    f"--siblings {member}", expected=phrase("errors.common.model"), got=str(error)
                ) from error
            if other.fingerprint != model.fingerprint:
                models[other.fingerprint] = other
    if not models:
        raise Unsupported(
            phrase("errors.experiments.experiment_siblings"),
            expected=phrase("errors.experiments.models_other_than_audited_one"),
            got=phrase("errors.experiments.only_itself"),
        )
    return [*models.values()]


def _case(model: Model, examples: Sequence[Example], seed: int) -> DeskCase:
    return DeskCase(Desk(model, seed=seed), examples)


def _beside(
    base: DeskCase, ours: Sequence[Floats], said: Floats, other: DeskCase, layers: str | int, heads: str | int
) -> dict[str, Floats]:
    """Return (examples,) scores of one sibling."""
    other_alphas = [m.alpha for m in maps(other, layers, heads, "siblings")]
    answers = other.base().distribution
    if answers is None or answers.shape != said.shape:
        raise Unsupported(
            phrase("errors.experiments.experiment_siblings"),
            expected=phrase("errors.experiments.siblings_with_same_classes"),
            got=phrase("errors.experiments.other_classes"),
        )
    columns = {name: np.full(len(ours), np.nan) for name in ("jsd", "change", *KINDS)}
    lost = lost_without(other)
    for i, (a, b) in enumerate(zip(ours, other_alphas, strict=True)):
        if base.units[i].names != other.units[i].names or len(a) < 2:
            continue
        columns["jsd"][i], columns["change"][i] = float(jsd(b, a)), float(tvd(answers[i], said[i]))
        ways = [way[i] for way in lost]
        tops = {"attention": [int(first(a, 1)[0])] * len(ways), "own attention": [int(first(b, 1)[0])] * len(ways)}
        # the best unit by another operator than the one that judges it, where there are two
        tops["best"] = [int(first(ways[k - 1], 1)[0]) for k in range(len(ways))]
        for name, units in tops.items():
            columns[name][i] = float(np.mean([way[unit] for way, unit in zip(ways, units, strict=True)]))
    return columns


def _shuffled(alpha: Floats, seed: int, ident: str) -> float:
    if len(alpha) < 2:
        return float("nan")
    return float(jsd(alpha[keyed_rng(seed, ident, "seed_variance").permutation(len(alpha))], alpha))


def _median(table: Floats) -> Floats:
    return np.array([np.median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else np.nan for row in table])


def _mean(table: Floats) -> Floats:
    return np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in table])
