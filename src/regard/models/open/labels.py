"""Label table: match the labels of the data with the classes of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regard.errors import InputError, phrase
from regard.records import Json

_SAME = (
    ("negative", "neg", "bad", "no", "false"),
    ("positive", "pos", "good", "yes", "true"),
    ("neutral", "neu"),
    ("entailment", "entails"),
    ("contradiction", "contradicts"),
    ("ham", "not spam", "notspam"),
    ("spam",),
)
_PLAIN = re.compile(r"label[ _-]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Model class of each data label. `how` names the rule that matched it."""

    model: tuple[str, ...]
    index: Mapping[str, int]
    how: Mapping[str, str]

    def of(self, label: Json) -> int:
        """Class index of a label; the error for an unknown one lists the known labels."""
        key = _key(label)
        if key not in self.index:
            raise InputError(
                phrase("errors.models.label_alone", label=repr(label)),
                expected=phrase("errors.models.one_model_labels", model=", ".join(self.model)),
                got=phrase("errors.models.no_match"),
                remedy=phrase("errors.models.labels_label_class_index", key=key),
            )
        return self.index[key]

    def rows(self) -> list[tuple[str, int, str, str]]:
        """(label in the data, class index, label of the model, matching rule), for display."""
        return [(key, at, self.model[at], self.how[key]) for key, at in self.index.items()]


def parse_labels(text: str) -> dict[str, int]:
    """`neg=0,pos=1` -> {"neg": 0, "pos": 1}

    >>> parse_labels("neg=0,pos=1")
    {'neg': 0, 'pos': 1}
    """
    out: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, at = part.rpartition("=")
        if not equals or not at.strip().isdigit():
            raise InputError(
                phrase("errors.models.labels_text", text=repr(text)), expected="name=index,name=index", got=repr(part)
            )
        out[name.strip()] = int(at)
    return out


def match_labels(
    model: Sequence[str], seen: Iterable[Json], override: str | Mapping[str, int] | None = None
) -> LabelTable:
    """Match every label of the data with a class of the model.

    In this order: the override, the same name, the same name in another case or a synonym, LABEL_k and plain numbers as
    class indices; finally, for a model that only has LABEL_0 and LABEL_1, negative is 0 and positive is 1.

    >>> match_labels(["LABEL_0", "LABEL_1"], ["neg", "pos"]).rows()
    [('neg', 0, 'LABEL_0', 'guessed by meaning'), ('pos', 1, 'LABEL_1', 'guessed by meaning')]
    """
    overrides = parse_labels(override) if isinstance(override, str) else dict(override or {})
    for name, at in overrides.items():
        if not 0 <= at < len(model):
            raise InputError(
                phrase("errors.models.label_label", label=name, at=at),
                expected=phrase("errors.models.class_index_in_range", n=len(model) - 1),
                got=str(at),
            )
    index, how = dict[str, int](), dict[str, str]()
    for label in seen:
        key = _key(label)
        if label is None or key in index:
            continue
        match = _match(model, key, overrides)
        if match is None:
            raise InputError(
                phrase("errors.models.label_data", key=repr(key)),
                expected=phrase("errors.models.one_model_labels", model=", ".join(model)),
                got=phrase("errors.models.no_match"),
                remedy=phrase("errors.models.labels_label_data_class_index", key=key),
            )
        index[key], how[key] = match
    return LabelTable(tuple(model), index, how)


def _key(label: Json) -> str:
    if isinstance(label, bool):
        return str(int(label))
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def _match(model: Sequence[str], key: str, given: Mapping[str, int]) -> tuple[int, str] | None:
    if key in given:
        return given[key], "given"
    if key in model:
        return list(model).index(key), "same name"
    folded = [name.casefold() for name in model]
    if folded.count(key.casefold()) == 1:
        return folded.index(key.casefold()), "same name in another case"
    meaning = _meaning(key)
    alike = [i for i, name in enumerate(folded) if meaning is not None and _meaning(name) == meaning]
    if len(alike) == 1:
        return alike[0], "synonym"
    numbered = _PLAIN.fullmatch(key)
    number = numbered.group(1) if numbered else key
    if number.isdigit() and int(number) < len(model) and not any(name.isdigit() for name in model):
        return int(number), "class index"
    nameless = all(_PLAIN.fullmatch(name) for name in model)
    if nameless and len(model) == 2 and meaning in ("negative", "positive"):
        return int(meaning == "positive"), "guessed by meaning"
    return None


def _meaning(name: str) -> str | None:
    return next((group[0] for group in _SAME if name.casefold() in group), None)


def named(target: Json, labels: Sequence[str]) -> Json:
    """Name of a class if the target is a class index, else the target itself."""
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < len(labels):
        return labels[target]
    return target


def label_order(labels: str | Sequence[str] | Mapping[str, int] | None) -> tuple[str, ...]:
    """Return the label names of an option in the order of the classes; () for none.

    >>> label_order("no=1,yes=0"), label_order(["a", "b"])
    (('yes', 'no'), ('a', 'b'))
    """
    if labels is None:
        return ()
    if isinstance(labels, str | Mapping):
        table = parse_labels(labels) if isinstance(labels, str) else dict(labels)
        return tuple(sorted(table, key=lambda label: table[label]))
    return tuple(map(str, labels))
