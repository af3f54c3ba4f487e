"""Shared parts of the robustness experiments: noises, attacks, sampling and labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import InputError, Unsupported, phrase
from regard.experiments._finding import finding
from regard.measures.answer_change import Answered, answered
from regard.perturbations.apply import USUAL, modality_of, noises
from regard.protocols import Case
from regard.records import Answers, Floats, Ints, Json, Score, Spec, Units
from regard.registry import entry, names
from regard.store.shard_result import units_to_json

Chosen = tuple[str, ...] | int
"""Names, or the number of default ones."""

ATTACKS = {
    "text": ("greedy_word", "greedy_char", "hotflip", "beam"),
    "image": ("pgd", "pgd:eps=0.1", "square", "apgd", "pgd:eps=0.3", "fgsm"),
    "audio": ("pgd", "pgd:eps=0.1", "square", "apgd", "pgd:eps=0.3", "fgsm"),
    "series": ("pgd", "pgd:eps=0.1", "square", "apgd", "pgd:eps=0.3", "fgsm"),
    "table": ("pgd", "pgd:eps=0.1", "square", "apgd", "pgd:eps=0.3", "fgsm"),
}
"""Default attacks by modality, with a larger ball beside the usual one, since success must grow with it."""
MODEL = "model"
"""Method name of findings about predictions."""
LARGEST_SHOWN = 4096
"""Maximum numbers of an image or a series that is stored for display."""


def modality(case: Case, name: str) -> str:
    """Return the modality of the examples; raise if it is unknown."""
    kind = modality_of(case.examples[0]) if case.examples else ""
    if not kind:
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.experiments.text_image_sound_series"),
            got=phrase("errors.experiments.other_inputs"),
        )
    return kind


def chosen_noises(case: Case, wanted: Chosen, name: str) -> list[Spec]:
    """Return the named noises, or the defaults of the modality."""
    if not isinstance(wanted, int):
        return [Spec.parse("perturbation", noise) for noise in wanted]
    kind = modality(case, name)
    available = {spec.name: spec for spec in noises(kind)}
    usual = USUAL.get(kind, ())
    own = [n for n in available if entry("perturbation", n).facts.get("family") == "chinese"]
    # noises for one script leave others as they are, and would look harmless
    first = own if own and _chinese(case) else []
    order = [*first, *(n for n in usual if n in available), *sorted(n for n in available if n not in (*usual, *own))]
    if not order:
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.experiments.noises_for_noun", noun=kind),
            got=phrase("errors.common.none"),
        )
    return [available[n] for n in order[:wanted]]


def _chinese(case: Case) -> bool:
    """Return whether the data are Chinese, by the companions, which all shards share."""
    texts = [str(e.inputs.get("text", "")) for e in case.companions.examples or case.examples]
    return any("\u4e00" <= c <= "\u9fff" for text in texts for c in text)


def chosen_attacks(case: Case, wanted: Chosen, name: str) -> list[Spec]:
    """Return the named attacks, or the defaults with noise of the same size as a baseline."""
    if not isinstance(wanted, int):
        return [Spec.parse("attack", attack) for attack in wanted]
    kind = modality(case, name)
    facts_of = {n: entry("attack", n).facts for n in names("attack")}
    fitting = {n: f for n, f in facts_of.items() if _fits(f.get("modality"), kind) and f.get("goal") == "prediction"}
    usual = [s for s in (Spec.parse("attack", a) for a in ATTACKS.get(kind, ())) if s.name in fitting][:wanted]
    if not usual:
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.common.attacks_on_noun", noun=kind),
            got=phrase("errors.common.none"),
        )
    return [*usual, *(Spec("attack", n) for n, f in fitting.items() if f.get("role") == "baseline")]


def _fits(modalities: Json, kind: str) -> bool:
    return isinstance(modalities, list) and (kind in modalities or (kind == "table" and "tabular" in modalities))


def sampled(case: Case, share: float) -> list[int]:
    """Return positions of a share of the examples, each drawn independently of the caller."""
    if not 0 < share <= 1:
        raise InputError("share", expected=phrase("errors.common.more_than_at_most"), got=str(share))
    return [i for i in range(len(case.ids)) if share == 1 or case.rng(i, "robustness").random() < share]


def distribution(answers: Answers, name: str) -> Floats:
    """Return (rows, classes) probabilities; raise for models that do not predict one of several classes."""
    rows = answers.distribution
    if rows is None or not np.allclose(rows.sum(-1), 1, atol=1e-3):
        raise Unsupported(
            phrase("errors.experiments.experiment_name", name=name),
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.common.another_task"),
        )
    return rows


def said_by(case: Case, name: str) -> Answered:
    """Return the model's prediction for every example (class, labels or number); raise for other tasks."""
    base = case.base()
    number = base.distribution is None
    return answered(
        base,
        case.companions.base() if number and case.companions.ids else None,
        phrase("errors.experiments.experiment_name", name=name),
    )


def truth(case: Case) -> Ints:
    """Return (examples,) the index of the labelled class; -1 without a label."""
    places = {label: i for i, label in enumerate(case.labels)}

    def index(label: Json) -> int:
        if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(case.labels):
            return label
        return places.get(str(label), -1)

    return np.array([-1 if e.label is None else index(e.label) for e in case.examples], np.int64)


def witness(case: Case, variant: Case, i: int, where: dict[str, Json]) -> list[Score]:
    """Return one changed example for display: its input, the prediction, the attention; one row of its own.

    Empty if the input is too large to store.
    """
    answers, example, units = variant.base(), variant.examples[i], variant.units[i]
    inputs: dict[str, Json] = {}
    for name, value in example.inputs.items():
        if isinstance(value, str):
            inputs[name] = value
        elif np.size(value) <= LARGEST_SHOWN:
            inputs[name] = np.asarray(value).round(6).tolist()
        else:
            return []
    rows = answers.distribution
    top = -1 if rows is None else int(rows[i].argmax())
    facts: dict[str, Json] = {
        **where,
        "witness": True,
        "inputs": inputs,
        "units": units_to_json(units),
        "predicted": None if rows is None else case.labels[top] if top < len(case.labels) else top,
        "probability": round(float(answers.probability[i] if rows is None else rows[i][top]), 6),
        "relevance": _looked_at(variant, i, units),
    }
    before = case.base().probability[i]
    return [finding("witness", (case.ids[i],), np.array([answers.probability[i] - before]), facts, method=MODEL)]


def _looked_at(variant: Case, i: int, units: Units) -> Json:
    """Return the relevance of the first explainer that works, attention before others."""
    for method in sorted(variant.explainers, key=lambda m: m != "attention"):
        try:
            values = variant.subset([i]).relevance(method)[0]
        except Unsupported:
            continue
        return {"method": method, "values": [round(float(v), 6) for v in values]}
    return None


def per_example(rows: Sequence[Floats]) -> Floats:
    """Return (examples,) the minimum over columns; NaN where any is NaN."""
    return np.asarray(np.min(np.stack(rows), axis=0), np.float64)
