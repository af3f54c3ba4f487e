"""Words -> placeholders: the same word has the same one throughout, and nothing that is written can give it back.

Words are numbered in the order in which they first stand in the data, so that the same data give the same placeholders
whenever and wherever they are veiled, and no list of words has to be kept. Punctuation stays, and so do names that are
not text: ids, groups, slices, labels of classes, columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from regard.records import Score

WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]|[^\W_]+(?:['’][^\W_]+)*")
"""A run of letters and digits; where a script has no spaces, each character."""
TEXTS = ("text", "text_pair")
"""The inputs that are text, by the part of a unit."""


class Veil:
    """Made from all texts of a data set, in their order.

    >>> veil = Veil(["A dull film .", "dull, dull"])
    >>> veil.words("A dull film ."), veil.words("dull, DULL!"), veil.words("unheard of")
    ('w1 w2 w3 .', 'w2, w2!', 'unheard of')
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        for text in texts:
            for match in WORD.finditer(text):
                self._numbers.setdefault(match.group().casefold(), len(self._numbers) + 1)

    @staticmethod
    def over(rows: Iterable[Mapping[str, Any]]) -> Veil:
        """rows: `inputs` and `label` of every example."""
        return Veil(value for row in rows for value in _texts(row))

    def words(self, text: str) -> str:
        """Known words as placeholders; others (an error message's own) stay."""
        return WORD.sub(lambda match: self._placeholder(match.group()) or match.group(), text)

    def _placeholder(self, word: str) -> str | None:
        number = self._numbers.get(word.casefold())
        return None if number is None else f"w{number}"

    def example(self, row: Mapping[str, Any], original: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A row of the book without its texts, and its units, where it has them, by their placeholders.

        original: where the texts stand, if not in the row itself.
        """
        inputs = (original or row).get("inputs", {})
        made = dict(row)
        if "inputs" in row:
            made["inputs"] = {k: v for k, v in row["inputs"].items() if not _is_text(v)}
        for name in ("rationale", "alignment"):
            if name in made and any(isinstance(inputs.get(t), str) for t in TEXTS):
                made[name] = None  # places in a text that is gone
        if isinstance(row.get("label"), str):
            made["label"] = self.words(row["label"]) if len(WORD.findall(row["label"])) > 3 else row["label"]
        if isinstance(row.get("target"), str):  # what was generated, not the number of a class
            made |= {"target": self.words(row["target"]), "predicted": self.words(str(row.get("predicted")))}
        if row.get("written"):  # a text that the model wrote
            made |= {"predicted": self._hidden(str(row["predicted"])), "written": [*map(self._hidden, row["written"])]}
        if row.get("units"):
            made["units"] = self.units(row["units"], inputs)
        return made

    def _hidden(self, text: str) -> str:
        """No word stays, known or not."""
        return WORD.sub(lambda match: self._placeholder(match.group()) or "w?", text)

    def finding(self, score: Score) -> Score:
        """A finding that brings an example of its own (a changed text) without its words."""
        return replace(score, where=self.example(score.where)) if "inputs" in score.where else score

    def units(self, units: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Units of a text by placeholders: `w7` a whole word, `w7.2` the second piece of one; no places."""
        if units["place_kind"] != "span":
            return dict(units)
        names, piece = [], dict[tuple[int, int], int]()
        for name, place, special, part in zip(
            units["names"], units["places"], units["special"], units["part"], strict=True
        ):
            text = inputs.get(TEXTS[int(part)]) if int(part) < len(TEXTS) else None
            names.append(name if special else self._unit(str(name), place, text, int(part), piece))
        return {**units, "names": names, "places": [[0.0, 0.0] for _ in names]}

    def _unit(self, name: str, place: Any, text: object, part: int, piece: dict[tuple[int, int], int]) -> str:
        start, stop = int(place[0]), int(place[-1])
        if not isinstance(text, str) or stop <= start:
            return self._hidden(name)
        said = text[start:stop]
        for match in WORD.finditer(text):
            if match.start() < stop and match.end() > start:
                whole = self._placeholder(match.group()) or "w?"
                if start <= match.start() and match.end() <= stop:
                    return self._hidden(said)
                key = part, match.start()
                piece[key] = piece.get(key, 0) + 1
                return f"{whole}.{piece[key]}"
        return said


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and any(isinstance(v, str) for v in value))


def _texts(row: Mapping[str, Any]) -> Iterable[str]:
    yield from (v for k in TEXTS if isinstance(v := row["inputs"].get(k), str))
    if isinstance(row.get("label"), str):
        yield row["label"]
