"""Measurements of a trained network: one number per example and quantity, so that networks can be compared in pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from regard.attacks._substitutes import substitutes
from regard.audits.resolve import matched, prepared
from regard.desk.case import DeskCase
from regard.desk.changes import PerturbedBy
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.errors import Unsupported, phrase
from regard.improve.interpretability import readability
from regard.measures.agreement import pearson, ragged
from regard.measures.keyed_random import keyed_rng
from regard.message import Message
from regard.models.open.load import load
from regard.models.read.words import word_spans
from regard.perturbations.apply import modality_of, noises
from regard.protocols import Case, Dataset
from regard.records import Example, Floats, Json, Score, Spec, Threat
from regard.registry import build
from regard.store.shapes import NUMBER, Mismatch, decoded, optional, record, table
from regard.training.directory import write_json

Better = Literal["higher", "lower"]
ATTACKED = ("attack_success", "adaptive_attack_success", "attack_accuracy")
"""Quantities whose words name the attack."""
SUBSTITUTES = 12
"""Substitutes per word, for the greedy attack."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Row of the table: the quantity in words, and the direction of improvement."""

    name: str
    words: Message
    better: Better


@dataclass(frozen=True, slots=True)
class Plan:
    """Measurements made of every network.

    examples: drawn from the test split at random once; accuracy uses the whole split. learned_noises, other_noises:
    noises that recipes learn from, and noises that none does. severity: that of each noise. attack, budget: queries per
    text.
    """

    examples: int = 150
    learned_noises: tuple[str, ...] = ()
    other_noises: tuple[str, ...] = ()
    severity: int = 3
    attack: str = "greedy_word"
    budget: int = 60
    seed: int = 0

    def quantities(self) -> tuple[Quantity, ...]:
        """Rows of the table, in order."""
        substituted = self.attack == "greedy_word"
        directions: dict[str, Better] = {
            "accuracy": "higher",
            "noise_accuracy": "higher",
            "other_noise_accuracy": "higher",
            "attack_success": "lower",
            **({"adaptive_attack_success": "lower"} if substituted else {}),
            "attack_accuracy": "higher",
            "attention_share": "higher",
            "example_trust": "higher",
            "faithfulness": "higher",
            "removal_agreement": "higher",
            "propagation_agreement": "higher",
            "gradient_agreement": "higher",
            "gradient_correlation": "higher",
            "stability": "higher",
        }
        return tuple(Quantity(name, self.words(name), better) for name, better in directions.items())

    def words(self, quantity: str) -> Message:
        """Name a quantity in words."""
        places: dict[str, dict[str, Json]] = {
            "noise_accuracy": {"learned": ", ".join(self.learned_noises)},
            "other_noise_accuracy": {"others": ", ".join(self.other_noises)},
            "stability": {"first": self.learned_noises[0]},
            **{name: {"attack": self.attack} for name in ATTACKED},
        }
        plain = quantity == "attack_success" and self.attack != "greedy_word"
        return Message(f"improvement.{'plain_' if plain else ''}{quantity}", places.get(quantity, {}))

    def to_json(self) -> dict[str, Json]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


Columns = Mapping[str, Mapping[str, float]]
"""Quantity -> example id -> value; NaN where it is undefined."""


def plan_for(data: Dataset, *, examples: int, budget: int, learned: Sequence[str] = (), seed: int = 0) -> Plan:
    """Plan the noises and the attack that fit the modality of the data."""
    modality = modality_of(next(iter(data)))
    text = modality == "text"
    usual = ("keyboard", "drop_words", "ocr", "swap_letters") if text else ()
    candidates = [*usual, *(spec.name for spec in noises(modality) if spec.name not in usual)]
    learned_noises = tuple(dict.fromkeys(learned)) or tuple(candidates[:2])
    others = tuple([name for name in candidates if name not in learned_noises][:2])
    if not learned_noises or not others:
        raise Unsupported(
            phrase("errors.common.data_path", path=data.name),
            expected=phrase("errors.improve.modality_with_noises"),
            got=modality or phrase("errors.common.another_input"),
        )
    return Plan(examples, learned_noises, others, attack="greedy_word" if text else "pgd", budget=budget, seed=seed)


def drawn(data: Dataset, plan: Plan) -> list[Example]:
    """Draw the examples to attack and explain, the same for every network."""
    items = list(data)
    if len(items) <= plan.examples:
        return items
    numbers = keyed_rng(plan.seed, "improve", len(items)).choice(len(items), plan.examples, replace=False)
    return [items[int(i)] for i in np.sort(numbers)]


class NetworkMeasurements:
    """Measurements of a trained network on the test split."""

    def __init__(self, folder: Path, data: Dataset, plan: Plan) -> None:
        self.model = load(folder, device="cpu")
        self.plan, self.data = plan, data
        self.all_ids: tuple[str, ...] = ()
        self.close = self._case(drawn(data, plan))

    def _case(self, examples: Sequence[Example]) -> DeskCase:
        read, _ = prepared(self.model, _Few(self.data, examples), None)
        renamed, _ = matched(self.model, self.data, read, None)
        return DeskCase(Desk(self.model, seed=self.plan.seed), renamed)

    def substitutes(self, file: Path) -> None:
        """Write the substitutes of each word by this network's own embedding."""
        find = substitutes(self.close, "neighbours", SUBSTITUTES)
        words = sorted(
            {text[a:b] for e in self.close.examples for text in [str(e.inputs["text"])] for a, b in word_spans(text)}
        )
        write_json(file, {word: others for word in words if (others := find(word))})

    def columns(self, table: Path | None = None, *, own: bool = False) -> dict[str, dict[str, float]]:
        """Return every quantity of the plan that this model supports.

        table: a file {word: [substitute, ...]} for attacking every network alike. own: whether it is this network's.
        """
        questions: list[Callable[[], Mapping[str, Floats]]] = [
            self._accuracy,
            self._noise,
            lambda: self._attacks(table, own),
            self._readability,
            self._attention,
            self._propagation,
            self._stability,
        ]
        columns: dict[str, dict[str, float]] = {}
        for ask in questions:
            try:
                answers = ask()
            except Unsupported:
                continue
            for name, values in answers.items():
                ids = self.all_ids if name == "accuracy" else self.close.ids
                columns[name] = {i: float(v) for i, v in zip(ids, values, strict=True)}
        return columns

    def validation(self) -> tuple[float, float]:
        """Accuracy on the whole data, and attention's share on the drawn examples."""
        share = self._readability()["attention_share"]
        accuracy = self._accuracy()["accuracy"]
        defined = share[np.isfinite(share)]
        return float(np.nanmean(accuracy)), float(defined.mean()) if len(defined) else float("nan")

    def _accuracy(self) -> dict[str, Floats]:
        whole = self._case(list(self.data))
        self.all_ids = whole.ids
        return {"accuracy": _right(whole)}

    def _noise(self) -> dict[str, Floats]:
        by_name = {}
        for name, kinds in (
            ("noise_accuracy", self.plan.learned_noises),
            ("other_noise_accuracy", self.plan.other_noises),
        ):
            by_name[name] = np.mean(
                [_right(self.close.variant(PerturbedBy(kind, self.plan.severity))) for kind in kinds], axis=0
            )
        return by_name

    def _attacks(self, table: Path | None, same: bool) -> dict[str, Floats]:
        attack, right = self.plan.attack, _right(self.close)
        own = self._success(attack)
        if attack != "greedy_word" or table is None:
            return {"attack_success": own, "attack_accuracy": np.where(own > 0, 0.0, right)}
        alike = own if same else self._success(f"{attack}:source={table}")
        # the stronger of the two attacks counts
        either = np.fmax(own, alike)
        return {
            "attack_success": alike,
            "adaptive_attack_success": own,
            "attack_accuracy": np.where(either > 0, 0.0, right),
        }

    def _success(self, attack: str) -> Floats:
        results = attacked(self.close, Spec.parse("attack", attack), Threat(budget=self.plan.budget))
        return np.array([np.nan if r.status == "skipped" else float(r.status == "success") for r in results])

    def _attention(self) -> dict[str, Floats]:
        case = self.close
        looked, steep = case.relevance("attention"), case.relevance("saliency")
        free = [units.free for units in case.units]
        pairs = [[np.asarray(row[f]) for row, f in zip(r, free, strict=True)] for r in (looked, steep)]
        above = _values("comprehensiveness", case, "attention") - _values("comprehensiveness", case, "random")
        return {
            "faithfulness": above,
            "removal_agreement": _values("agreement:other=leave_one_out", case, "attention"),
            "gradient_agreement": _values("agreement:other=saliency", case, "attention"),
            "gradient_correlation": ragged(pearson, *pairs),
        }

    def _readability(self) -> dict[str, Floats]:
        return readability(self.close)

    def _propagation(self) -> dict[str, Floats]:
        return {"propagation_agreement": _values("agreement:other=lrp", self.close, "attention")}

    def _stability(self) -> dict[str, Floats]:
        params: dict[str, Json] = {
            "explainers": ["attention"],
            "noises": [self.plan.learned_noises[0]],
            "severities": [self.plan.severity],
            "share": 1.0,
        }
        scores: Sequence[Score] = build(Spec("experiment", "explanation_drift", params))(self.close)
        ranks = next(s for s in scores if s.metric == "explanation_rank")
        by_id = dict(zip(ranks.ids, ranks.values.tolist(), strict=True))
        return {"stability": np.array([by_id[i] for i in self.close.ids])}


class _Few:
    """Some examples of a data set, under its name."""

    def __init__(self, data: Dataset, examples: Sequence[Example]) -> None:
        self.name, self.fingerprint, self.labels, self.notes = data.name, data.fingerprint, data.labels, data.notes
        self._items = list(examples)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Example]:
        return iter(self._items)


def _values(metric: str, case: Case, method: str) -> Floats:
    score: Score = build(Spec.parse("metric", metric))(case, case.relevance(method))
    return score.values


def _right(case: Case) -> Floats:
    distribution = case.base().distribution
    if distribution is None or not case.labels:
        raise Unsupported(
            "regard improve",
            expected=phrase("errors.common.model_that_decides_among_classes"),
            got=phrase("errors.common.another_task"),
        )
    places = {name: i for i, name in enumerate(case.labels)}
    labels = np.array([places.get(str(e.label), -1) for e in case.examples])
    return np.where(labels < 0, np.nan, distribution.argmax(-1) == labels).astype(np.float64)


def read_columns(file: Path) -> dict[str, dict[str, float]] | None:
    """Read stored columns; None if missing or incomplete."""
    try:
        value = decoded(file.read_bytes())
        record({"columns": table(table(optional(NUMBER)))})(value, "")
    except (OSError, Mismatch):
        return None
    columns = value["columns"]
    return {q: {i: float("nan") if v is None else float(v) for i, v in some.items()} for q, some in columns.items()}


def write_columns(file: Path, columns: Columns, facts: Mapping[str, Json]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = {q: {i: None if np.isnan(v) else round(v, 9) for i, v in some.items()} for q, some in columns.items()}
    write_json(file, {**facts, "columns": plain})
