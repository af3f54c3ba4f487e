"""Answers in words: the class, the token or the text that a target stands for."""

from __future__ import annotations

from collections.abc import Sequence

from regard.models.open.labels import named
from regard.models.read.encoded import Item, Reader
from regard.protocols import Target
from regard.records import Json

NOT_A_CHARACTER = "\ufffd"
"""Output of a decoder for a token that is only a part of a character."""


WHOLE = ("sequence_to_sequence", "answer")
"""Tasks whose target is a text of any number of tokens."""


def written_ids(task: str, target: Target) -> list[int] | None:
    """Ids that the model wrote; None if an answer is not a token.

    >>> written_ids("next_token", 7), written_ids("masked_token", [3, 7]), written_ids("classification", 1)
    ([7], [7], None)
    """
    numbers = target if isinstance(target, list) else [target]
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in numbers):
        return None
    ids = [int(i) for i in numbers if isinstance(i, int)]
    if task in ("next_token", "written_token") and len(ids) == 1:
        return ids
    if task == "masked_token" and len(ids) == 2:
        return ids[1:]
    return ids if task in WHOLE and ids else None


def written_names(task: str, target: Target, reader: Reader) -> tuple[str, ...] | None:
    """Name each token that the model generated; None if it generates none or has no spelling for them."""
    ids = written_ids(task, target)
    spell = getattr(reader, "spell", None)
    return None if ids is None or spell is None else tuple(spell(ids))


def answer_name(task: str, target: Target, labels: Sequence[str], reader: Reader, item: Item | None) -> Json:
    """Name an answer; the target itself if no name is known. item: the example, for a place in it."""
    if task == "similarity":
        return _vector_name(target)
    ids = written_ids(task, target)
    if ids is not None:
        text = _decoded(ids, reader, whole=task in WHOLE)
        return target if text is None else text
    if item is not None and isinstance(target, list) and len(target) == 2:
        return _placed(task, target, labels, reader, item)
    return named(target, labels)


def _vector_name(target: Target) -> Json:
    """Shorten an embedding to its first numbers and its length.

    >>> _vector_name({"own": [0.25, -1.5, 3.0, 4.0]})
    '[0.25, -1.5, ...] (4)'
    """
    vector = target.get("own") if isinstance(target, dict) else target
    if not isinstance(vector, list):
        return target
    return f"[{', '.join(f'{number:.3g}' for number in vector[:2])}, ...] ({len(vector)})"


def _decoded(ids: list[int], reader: Reader, *, whole: bool) -> str | None:
    """Decode ids to text; use the token's name if a single token is not text. None without a tokenizer."""
    spell, join = (getattr(reader, name, None) for name in ("spell", "join"))
    if spell is None or join is None:
        return None
    text = str(join(ids))
    return text if whole or (text and NOT_A_CHARACTER not in text) else str(spell(ids)[0])


def _placed(task: str, target: list[Json], labels: Sequence[str], reader: Reader, item: Item) -> Json:
    """Name an answer that is a place in the input: the words of a span, or a unit with its class."""
    first, last = target
    if not isinstance(first, int) or not isinstance(last, int):
        return target
    if task == "question_answering":
        ids = [int(i) for i in item.arrays[reader.main][first : last + 1]]
        return _decoded(ids, reader, whole=True) or " ".join(item.units.names[first : last + 1])
    if task == "object_detection" and 0 <= last < len(labels):
        return f"{labels[last]} (query {first})"
    if task == "token_classification" and 0 <= last < len(labels):
        return f"{item.units.names[first]}: {labels[last]}"
    return target
