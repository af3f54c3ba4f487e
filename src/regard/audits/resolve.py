"""First step of an audit: names, paths and live objects -> an open model and the examples it reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from regard.audits.channel_order import channel_order_note
from regard.audits.default_methods import profile
from regard.audits.options import AuditOptions
from regard.audits.readable import check_modality
from regard.audits.repeated_inputs import with_copies_joined
from regard.desk.encoding import encoded_once
from regard.errors import InputError, phrase
from regard.files import exists, slug
from regard.models.open.labels import named
from regard.protocols import Dataset, Model
from regard.records import Example, Json, Message, Spec, Text
from regard.registry import arguments, entry, named_model
from regard.store.example_json import example_to_json
from regard.store.ledger import canonical
from regard.store.manifest import data_facts, model_facts

MOST_EXAMPLES = 2000
"""Examples that an audit with a budget reads by default (see `limit`)."""
Source = str | Dataset | Iterable[Any]
"""Data by name, by path, or as a live object."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and the examples it is audited on, opened once; `about_*` is stored in the manifest.

    lengths: positions of each example. label_table: data label -> class of the model. places: index of each example by
    name, filled when it is first needed.
    """

    model: Model
    data: Dataset
    examples: Sequence[Example]
    lengths: Mapping[str, int]
    label_table: list[Json]
    about_model: dict[str, Json]
    about_data: dict[str, Json]
    places: dict[str, int] = field(default_factory=dict, compare=False)

    def in_order(self, names: Sequence[str]) -> list[Example]:
        """Return the named examples, in the order of the data."""
        if not self.places:
            self.places.update({example.id: i for i, example in enumerate(self.examples)})
        return [self.examples[i] for i in sorted(self.places[name] for name in names)]

    @property
    def rationales(self) -> bool:
        """Return whether the data have rationales."""
        return any(example.rationale for example in self.examples)


def resolve(model: str | Model, data: Source | None, options: AuditOptions) -> tuple[Subject, Subject | None]:
    """Open the model and the data and match their labels; the second subject holds the data of `options.shift`.

    Reads the data before a model that regard trains itself, which may take minutes, so that mistakes surface early.
    """
    spec = named_model(model) if isinstance(model, str) and not exists(model) else None
    if spec is not None:
        arguments(spec)
    live = _opened(model, options) if spec is None else None
    for sibling in options.siblings:
        if not exists(Path(sibling).expanduser()) and named_model(sibling) is None:
            raise InputError(
                f"--siblings {sibling}",
                expected=phrase("errors.audits.directory_model_or_family"),
                got=phrase("errors.common.nothing_there"),
            )
    source = default_data(model) if data is None else data
    dataset = read_data(source, options)
    other = None if options.shift is None else read_data(options.shift, shifted(options))
    live = _opened(model, options) if live is None else live
    name = model if isinstance(model, str) else live.spec.name if live.spec else "live"
    subject = _subject(live, name, dataset, source, options)
    if other is None or options.shift is None:
        return subject, None
    return subject, _subject(live, name, other, options.shift, shifted(options))


def shifted(options: AuditOptions) -> AuditOptions:
    """The options for the data of `shift`: without stored attention, and without the experiments that train.

    Those are about the network, not about the data. Columns that only the first data have are not required.
    """
    usual = () if options.narrowed else tuple(profile(options.profile_name).experiments)
    names = usual if options.experiments is None else options.experiments
    specs = [name if isinstance(name, Spec) else Spec.parse("experiment", name) for name in names]
    experiments = tuple(spec for spec in specs if entry("experiment", spec.name).facts.get("scope") == "case")
    staged = options.experiments is None and not options.limits.unlimited  # then the stages choose, as for the first
    return replace(
        options,
        keep=0,
        labels=options.shift_labels or options.labels,
        experiments=None if staged else experiments,
        shift=None,
        rationale_column=None,
        id_column=None,
        slices=(),
        split=None,
    )


def _subject(model: Model, name: str, data: Dataset, source: Source, options: AuditOptions) -> Subject:
    from regard.models.ask.current_fingerprint import current_fingerprint

    whole, notes = prepared(model, data, options.limit)
    examples, label_table = matched(model, data, whole, options.labels)
    current_fingerprint(model)  # a live model may have been trained on since it was opened
    about_model = model_facts(model, name) | siblings(model) | improved(model) | files(model)
    lengths = {example.id: _length(model, example) for example in examples}
    remarks = ([*model.notes] or notes) + unknown_words(model, examples)  # after every example was encoded once
    exchanged = channel_order_note(model, examples)
    remarks += [] if exchanged is None else [exchanged]
    about_data = data_facts(data, source if isinstance(source, str) else data.name, remarks)
    return Subject(
        model=model,
        data=data,
        examples=examples,
        lengths=lengths,
        label_table=label_table,
        about_model=about_model,
        about_data=about_data,
    )


def _length(model: Model, example: Example) -> int:
    try:
        return encoded_once(model, example).length
    except Exception:  # reported as a problem when its turn comes
        return 1


def run_folder(model: str | Model, data: Source | None, options: AuditOptions) -> Path:
    """Return the default directory of a run: regard-runs/MODEL-DATA-PROFILE-BUDGET-seedN.

    An unnamed profile or budget is omitted.
    """
    source = default_data(model) if data is None else data
    names = [value if isinstance(value, str) else getattr(value, "name", "examples") for value in (model, source)]
    effort = [options.profile, options.budget] if options.profile or options.budget else [options.limits.text]
    parts = [*map(slug, names), *(slug(part) for part in effort if part), f"seed{options.seed}"]
    return Path("regard-runs") / "-".join(parts)


def open_model(model: str | Model, device: str, **options: Any) -> Model:
    """Open the model; options: those of `regard.load`."""
    if not isinstance(model, str):
        return model
    from regard.models.adapter import pick_device
    from regard.models.open.load import load  # transformers is slow to import, and a live model needs none of it

    pick_device(device)  # a factory may ignore it, a mistake is still a mistake
    return load(model, device=device, **options)


def _opened(model: str | Model, options: AuditOptions) -> Model:
    """Open the model; explain a generating model step by step unless `task` names the whole sequence."""
    live = open_model(
        model,
        options.device,
        task=options.task,
        overflow=options.overflow,
        trust_remote_code=options.allow_code,
        download=options.download,
        processor=options.processor,
        rebuild=options.rebuild,
        words=options.words,
        dtype=options.dtype,
        device_map=options.device_map,
        quantize=options.quantize,
    )
    from regard.models.forecast_direction import direction_if_forecast
    from regard.models.sound_segments import in_segments
    from regard.models.writing_steps import steps_if_writer

    if options.task is not None:
        return in_segments(live, options.segment)
    return in_segments(direction_if_forecast(steps_if_writer(live)), options.segment)


def default_data(model: str | Model) -> str:
    """Default data set of a named model."""
    source = named_model(model) if isinstance(model, str) else None
    if source is not None:
        data = entry(source.kind, source.name).facts.get("data")
        if isinstance(data, str):
            return data
    raise InputError(
        "data",
        expected=phrase("errors.audits.data_set_for_this_model"),
        got=phrase("errors.common.none"),
        remedy=phrase("errors.audits.data_name_or_file_regard"),
    )


def open_data(data: Source, limit: int | None, seed: int, **columns: Any) -> Dataset:
    """Open the data; columns: as for `regard.read`. A `Dataset` and a list of Examples pass through."""
    from regard.datasets.examples import IN_MEMORY, Examples
    from regard.datasets.read import read

    if isinstance(data, Iterator):
        data = list(data)
    if isinstance(data, list | tuple) and data and all(isinstance(item, Example) for item in data):
        return Examples(IN_MEMORY, tuple(data))
    if not isinstance(data, str) and all(hasattr(data, name) for name in ("fingerprint", "labels", "notes")):
        return cast("Dataset", data)
    return read(data, limit=limit, seed=seed, **columns)


def read_data(data: Source, options: AuditOptions) -> Dataset:
    """Read the data by the options of an audit: columns, split, sample."""
    return open_data(
        data,
        options.limit or (profile(options.profile_name).examples if options.limits.unlimited else MOST_EXAMPLES),
        options.seed,
        text_column=options.text_column,
        pair_column=options.pair_column,
        label_column=options.label_column,
        group_column=options.group_column,
        rationale_column=options.rationale_column,
        id_column=options.id_column,
        slice_columns=options.slices,
        split=options.split,
        skip_bad=options.skip_bad,
    )


def prepared(model: Model, data: Dataset, limit: int | None) -> tuple[list[Example], list[Text]]:
    """Prepare the examples as the model reads them, with notes: a long text becomes windows."""
    check_modality(model, data)
    readable: list[Example] = []
    notes: list[Text] = []
    cut = 0
    for example in with_copies_joined(map(with_numbers, islice(data, limit))):
        try:
            windows = model.windows(example)
        except Exception:  # unreadable: it is reported as a problem when its turn comes
            windows = [example]
        cut += len(windows) > 1
        readable += windows
    if limit is not None and limit < len(data):
        notes.append(Message.of("data.first", n=limit, of=len(data)))
    if cut:
        notes.append(Message.of("data.windows", n=cut))
    if not readable:
        raise InputError(
            phrase("errors.common.data_path", path=data.name),
            expected=phrase("errors.common.at_least_one_example"),
            got=phrase("errors.common.none"),
        )
    twice = len(readable) - len({e.id for e in readable})
    if twice:
        raise InputError(
            phrase("errors.common.data_path", path=data.name),
            expected=phrase("errors.audits.different_id_for_every_example"),
            got=phrase("errors.audits.repeated_twice", twice=twice),
        )
    return readable, notes


def with_numbers(example: Example) -> Example:
    """The example with a PIL image as an array, which can be stored and sent to workers."""
    image: Any = example.inputs.get("image")
    if not hasattr(image, "__array_interface__") or isinstance(image, np.ndarray):
        return example
    from regard.models.read.pixels import as_pixels

    return replace(example, inputs={**example.inputs, "image": as_pixels(image, 1 if image.mode == "L" else 3)})


def matched(
    model: Model, data: Dataset, examples: Sequence[Example], override: str | Mapping[str, int] | None
) -> tuple[list[Example], list[Json]]:
    """Return the examples with the model's own label names, and the table of matches.

    Only where a label of the data can stand for a class; other tasks keep their labels as they are.
    """
    check_modality(model, data, examples)
    data_labels = [named(e.label, data.labels) for e in examples if e.label is not None]
    classes = "classification" in model.task and "token" not in model.task
    if not data_labels or not model.labels or not classes or any(isinstance(label, list) for label in data_labels):
        if override:
            raise InputError(
                "labels",
                expected=phrase("errors.audits.labelled_data_and_classifier"),
                got=phrase("errors.audits.nothing_match"),
            )
        return list(examples), []
    from regard.models.open.labels import match_labels

    table = match_labels(model.labels, sorted(data_labels, key=str), override)
    renamed = [
        e if e.label is None else replace(e, label=table.model[table.of(named(e.label, data.labels))]) for e in examples
    ]
    rows: list[Json] = [
        {"in the data": key, "class": at, "in the model": name, "matched by": how}
        for key, at, name, how in table.rows()
    ]
    return renamed, rows


def siblings(model: Model) -> dict[str, Json]:
    """Return the family and member of a model, if the same network was trained with several seeds."""
    from regard.networks.family import membership

    place = Path(model.spec.name).expanduser() if model.spec is not None else None
    family = membership(place) if place is not None and place.is_dir() else None
    return {} if family is None else {"family": family}


def files(model: Model) -> dict[str, Json]:
    """Return the digest of the model's files, by which a later command recognizes them before building the model."""
    if model.spec is None:
        return {}
    from regard.models.open.stored_model import file_digest

    digest = file_digest(model.spec)
    return {} if digest is None else {"files": digest}


def improved(model: Model) -> dict[str, Json]:
    """Return the record of `regard improve` about its model: recipe, before and after; empty for other models."""
    place = Path(model.spec.name).expanduser() if model.spec is not None else None
    for folder in () if place is None else (place, place.parent):
        try:
            facts = json.loads((folder.parent / "improvement.json").read_text("utf-8"))
            rows: list[Json] = [c for c in facts["comparisons"] if c["arm"] == folder.name]
            searched = ("search",) if folder.name == "searched" else ()
            plan_facts: dict[str, Json] = {key: facts[key] for key in ("seeds", "plan", *searched)}
            what = facts["recipes"][folder.name]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if rows:
            return {"improvement": {"arm": folder.name, "what": what, "comparisons": rows, **plan_facts}}
    return {}


def beside(about: Mapping[str, Json]) -> list[str]:
    """Directories of the other members of a model's family."""
    family = about.get("family")
    if not isinstance(family, dict) or not isinstance(family["siblings"], list):
        return []
    return [str(Path(str(family["directory"])) / str(name)) for name in family["siblings"]]


def unknown_words(model: Model, examples: Sequence[Example]) -> list[Text]:
    """Warn in one sentence about units outside the model's vocabulary, which all look the same to it."""
    from regard.models.ask.unknown_units import unknown_units

    unknown = units = 0
    for example in examples:
        try:
            encoded = encoded_once(model, example)
        except Exception:  # unreadable: it is reported as a problem when its turn comes
            continue
        unknown += unknown_units(model, encoded)
        units += int(encoded.units.free.sum())
    if not unknown:
        return []
    if model.modality == "tabular":
        return [Message.of("data.unknown_categories", n=unknown, examples=len(examples))]
    return [Message.of("data.unknown_units", n=unknown, of=units, share=unknown / units)]


def digest(examples: Sequence[Example]) -> str:
    """sha256 of everything that the model will see."""
    whole = hashlib.sha256()
    for example in examples:
        whole.update(canonical(example_to_json(example)).encode())
    return whole.hexdigest()
