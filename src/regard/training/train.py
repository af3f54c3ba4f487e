"""`regard.train`: train a network, or a family, into a directory that `regard.load` opens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.cards import Card, HasCard
from regard.datasets.read import read
from regard.errors import InputError, NoExamples, UnknownName, phrase
from regard.message import Message, Text, encoded
from regard.models.adapter import pick_device
from regard.networks import family as families
from regard.protocols import Dataset
from regard.records import Json, Spec
from regard.registry import arguments, build, names
from regard.store.codec import to_json
from regard.store.shapes import Mismatch
from regard.training.augmentation import Augment
from regard.training.directory import claimed, finish, read_record, set_aside, write_json
from regard.training.learner import Learner
from regard.training.loop import Settings
from regard.training.loss import in_words, weighted_terms
from regard.training.reference import open_reference
from regard.training.train_one import Loss, Splits, train_one

Say = Callable[[Text], None]
RESERVED = ("seed", "threads", "save_seconds")


@dataclass(frozen=True, slots=True, repr=False)
class Trained(HasCard):
    """Result of a training. members: the facts of each network.

    `regard.load` and `regard audit` open `directory`; `again`: it was complete before, nothing was trained.
    """

    directory: Path
    metric: str
    members: tuple[Mapping[str, Any], ...]
    again: bool = False

    def _card(self) -> Card:
        names = (f"dev_{self.metric}", f"test_{self.metric}")
        rows = [{name: member.get(name) for name in ("seed", *names)} for member in self.members]
        return Card("Trained", str(self.directory), {"members": len(self.members)}, rows, len(rows))

    def spread(self, split: str = "test") -> dict[str, float]:
        """Mean, standard deviation, minimum and maximum of the "dev" or "test" metric, and the number of seeds."""
        return spread([float(member[f"{split}_{self.metric}"]) for member in self.members])


def spread(values: Sequence[float]) -> dict[str, float]:
    """
    >>> spread([0.7, 0.8])["mean"], round(spread([0.7, 0.8])["sd"], 3)
    (0.75, 0.071)
    """
    array = np.asarray(values, np.float64)
    sd = float(array.std(ddof=1)) if len(array) > 1 else 0.0
    return {
        "mean": float(array.mean()),
        "sd": sd,
        "low": float(array.min()),
        "high": float(array.max()),
        "n": len(array),
    }


def train(
    learner: str | Spec,
    data: str | Path | tuple[Dataset, Dataset, Dataset] | Splits,
    *,
    out: str | Path,
    seeds: int = 1,
    seed: int = 0,
    settings: Mapping[str, Json] | None = None,
    terms: Mapping[str, float] | None = None,
    class_weights: str | Sequence[float] = "balanced",
    reference: str | Path | None = None,
    hide: Sequence[str] = (),
    augment: Augment | None = None,
    device: str = "cpu",
    announce: Say | None = None,
) -> Trained:
    """Train a network, or with `seeds` > 1 a family that differs only in the seed, into the directory `out`.

    learner: `classifier`, `classifier:encoder=average,attention=dot`, `vision`, ... (`regard list learner`).
    data: a name or a file with the splits train, dev and test, or these three data sets. settings: {"epochs": 3, ...}
    over the learner's own. terms: {"cross_entropy": 1, "conicity": 0.1}, the loss (`regard list term`).
    reference: a trained directory or an audit run with predictions and attention for terms and attention=frozen.
    augment: noisy copies of the examples to learn from beside the clean ones. device: cpu (the same seed gives the same
    weights everywhere), cuda or mps.
    Dev selects the epoch; test is evaluated once, at the end. After an interruption the same call resumes and reaches
    the same weights; after completion it returns the stored result.
    """
    spec = learner if isinstance(learner, Spec) else Spec.parse("learner", learner)
    arguments(spec)
    if seeds < 1:
        raise InputError("seeds", expected=phrase("errors.common.at_least"), got=str(seeds))
    if isinstance(data, tuple):
        data = Splits(*data)
    splits = data if isinstance(data, Splits) else read_splits(data)
    other = None if reference is None else open_reference(reference)
    prepared: Learner = build(spec)(splits.train)
    options = settings_of(prepared.settings, settings or {})
    weights = dict(terms if terms is not None else prepared.terms)
    weighted_terms(weights)  # report an unknown term before writing anything
    kind = pick_device(device).type
    numbers = [seed + k for k in range(seeds)]
    path, say = Path(out), announce or _silent
    loss = Loss(weights, class_weights, other, tuple(hide), augment)
    recipe = _recipe(spec, splits, options, loss, None if reference is None else str(reference), seeds=numbers)
    recipe |= {"device": kind} if kind != "cpu" else {}  # another device, other weights
    with claimed(path, recipe) as before:
        if before is not None and before["status"] == "complete":
            return Trained(path, prepared.measure.name, tuple(before["facts"]["members"]), again=True)
        say(
            Message.of(
                "training_note.begin",
                what=prepared.what,
                data=splits.train.name,
                train=len(splits.train),
                dev=len(splits.dev),
                test=len(splits.test),
                loss=in_words(weights),
            )
        )
        members: list[dict[str, Json]] = []
        for number in numbers:
            if seeds > 1:
                say(Message.of("training_note.seed", seed=number, number=number - seed + 1, seeds=seeds))
            own = replace(options, seed=number)
            members.append(_member(prepared, splits, path, own, loss, alone=seeds == 1, device=device))
            if seeds > 1:
                _describe_family(path, prepared, members, numbers)
        finish(path, recipe, {"members": [*members]})
    return Trained(path, prepared.measure.name, tuple(members))


def read_splits(data: str | Path, open_split: Callable[[str], Dataset] | None = None) -> Splits:
    """Read train, dev and test of a built-in name or a file; `open_split` overrides how to read one."""
    parts = {}
    for name in ("train", "dev", "test"):
        try:
            parts[name] = open_split(name) if open_split is not None else read(data, split=name, limit=None)
        except NoExamples:
            raise InputError(
                phrase("errors.training.split_name", name=name, what=data),
                expected=phrase("errors.common.at_least_one_example"),
                got=phrase("errors.common.none"),
                remedy=phrase("errors.training.more_data_or_column_split"),
            ) from None
    # with other columns or labels, too: whoever reads the source again compares fingerprints
    builtin = str(data).partition(":")[0] in names("dataset")
    return Splits(**parts, source=str(data) if builtin else "")


def _member(
    learner: Learner, splits: Splits, out: Path, settings: Settings, loss: Loss, *, alone: bool, device: str
) -> dict[str, Json]:
    """Load one finished network, or train or resume it."""
    name = f"seed-{settings.seed}"
    home, new = (out if alone else out / name), out / "state" / f"{name}.new"
    facts_file = "facts.json"
    if not alone and (home / facts_file).is_file():
        try:
            return read_record(home / facts_file)
        except Mismatch as error:
            set_aside(home, error, Message.of("training_note.again", name=name))
    shutil.rmtree(new, ignore_errors=True)
    facts = train_one(learner, splits, new, settings, loss=loss, state=out / "state" / name, device=device)
    write_json(new / facts_file, facts)
    if alone:
        for file in sorted(new.iterdir()):
            file.replace(home / file.name)
    else:
        new.replace(home)
    return facts


def _describe_family(out: Path, learner: Learner, members: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> None:
    metric = learner.measure.name
    rows = [
        {"name": f"seed-{s}", "seed": s, "dev": m[f"dev_{metric}"], "test": m[f"test_{metric}"]}
        for s, m in zip(seeds, members, strict=False)
    ]
    sign = 1 if learner.measure.higher_is_better else -1
    best = max(rows, key=lambda row: (sign * row["dev"], -row["seed"]))
    about = {
        "format": families.FORMAT,
        "version": families.VERSION,
        "what": encoded(learner.what),
        "data": members[0]["data"],
        "seeds": list(seeds),
        "complete": len(rows) == len(seeds),
        "metric": metric,
        "best": best["name"],
        "members": rows,
        "test_examples": members[0]["test_examples"],
        "dev": spread([row["dev"] for row in rows]),
        "test": spread([row["test"] for row in rows]),
    }
    write_json(out / families.FILE, about)


def settings_of(own: Settings, overrides: Mapping[str, Json]) -> Settings:
    types = {f.name: f.type for f in fields(Settings) if f.name not in RESERVED}
    for name, value in overrides.items():
        if name not in types:
            raise UnknownName("setting", name, types)
        whole = types[name] == "int"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise InputError(
                phrase("errors.training.setting_name", name=name),
                expected=phrase("errors.common.whole_number") if whole else phrase("errors.common.number"),
                got=repr(value),
            )
        if (
            (value <= 0 and name not in ("weight_decay", "warmup", "last"))
            or value < 0
            or (name == "warmup" and value >= 1)
        ):
            raise InputError(
                phrase("errors.training.setting_name", name=name),
                expected=phrase("errors.training.number_above"),
                got=repr(value),
            )
    return replace(own, **dict(overrides))  # type: ignore[arg-type]


def _recipe(
    spec: Spec,
    splits: Splits,
    settings: Settings,
    loss: Loss,
    source: str | None,
    *,
    seeds: Sequence[int],
) -> dict[str, Json]:
    options = {k: v for k, v in asdict(settings).items() if k not in ("seed", "save_seconds")}
    data = {name: getattr(splits, name).fingerprint for name in ("train", "dev", "test")}
    weights, other = loss.class_weights, loss.reference
    return {
        "learner": spec.to_json(),
        "data": {"name": splits.train.name, **data},
        "settings": options,
        "terms": dict(loss.terms or {}),
        "class_weights": weights if isinstance(weights, str) else [*weights],
        "hide": [*loss.hide],
        "reference": None if other is None else {"source": str(source), "identity": other.identity},
        "seeds": [*seeds],
        **({"augment": to_json(loss.augment)} if loss.augment is not None else {}),
    }


def _silent(sentence: Text) -> None:
    """Ignore messages."""
