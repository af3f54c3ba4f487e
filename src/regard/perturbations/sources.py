"""Sources of synonyms: the user's dictionary, or a WordNet directory.

(The model's own neighbours are the third source: `nearest.py`.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from regard.errors import EnvironmentProblem, InputError, Text, phrase
from regard.files import read_bytes, read_json, read_text

Source: TypeAlias = Callable[[str], Sequence[str]]
"""Lower-case word -> its synonyms, the best first; empty if unknown."""
_PARTS = ("noun", "verb", "adj", "adv")
USUAL = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/share/wordnet-3.0/dict", "/usr/local/WordNet-3.0/dict")


@lru_cache(maxsize=8)
def source(name: str) -> Source:
    """Open a source by name.

    FILE.json ({"word": ["other", ...]}), FILE.tsv (word, tab, others), a directory with the files of WordNet
    (index.noun, data.noun, ...), or "wordnet" for the usual places of that directory.
    """
    if name == "wordnet":
        folder = next((Path(place) for place in USUAL if (Path(place) / "index.noun").exists()), None)
        if folder is None:
            remedy: Text = phrase("errors.perturbations.apt_install_wordnet_base")
            expected = phrase("errors.perturbations.files_in_one", usual=", ".join(USUAL))
            raise EnvironmentProblem("WordNet", expected=expected, got=phrase("errors.common.none_them"), remedy=remedy)
        return _wordnet(folder)
    path = Path(name)
    if path.is_dir():
        return _wordnet(path)
    if not path.is_file():
        remedy = "source=FILE.json"
        expected = phrase("errors.perturbations.dictionary_file_json_or_file")
        raise InputError(
            phrase("errors.perturbations.synonyms_from_name", name=repr(name)),
            expected=expected,
            got=phrase("errors.common.no_such_file"),
            remedy=remedy,
        )
    return _dictionary(path)


def _dictionary(path: Path) -> Source:
    if path.suffix == ".json":
        table = read_json(path, phrase("errors.perturbations.synonyms_from_name", name=path))
    else:
        lines = [line.rstrip("\r").split("\t") for line in read_text(path).split("\n") if line.strip()]
        table = {word: [other for other in others if other.strip()] for word, *others in lines}
    if not isinstance(table, dict) or not all(isinstance(others, list) for others in table.values()):
        raise InputError(
            phrase("errors.perturbations.synonyms_from_name", name=path),
            expected='{"word": ["other word", ...]}',
            got=phrase("errors.common.something_else"),
        )
    synonyms: Mapping[str, tuple[str, ...]] = {
        str(word).lower(): tuple(map(str, others)) for word, others in table.items() if others
    }
    return lambda word: synonyms.get(word, ())


def _wordnet(folder: Path) -> Source:
    """Return single words of the same synsets in order of senses, without names."""
    missing = [
        f"{kind}.{part}" for part in _PARTS for kind in ("index", "data") if not (folder / f"{kind}.{part}").exists()
    ]
    if missing:
        raise InputError(
            phrase("errors.perturbations.wordnet_in_folder", folder=folder),
            expected=phrase("errors.perturbations.files"),
            got=phrase("errors.common.no_error", error=", ".join(missing)),
        )
    places: dict[str, list[tuple[str, int]]] = {}
    for part in _PARTS:
        for line in read_text(folder / f"index.{part}").split("\n"):
            if line.startswith(" ") or not line:  # the licence
                continue
            try:
                lemma, _, count, pointers, *rest = line.split()
                offsets = [int(offset) for offset in rest[int(pointers) + 2 :][: int(count)]]
            except ValueError as error:
                raise InputError(
                    phrase("errors.perturbations.wordnet_in_folder", folder=folder),
                    expected=phrase("errors.perturbations.lines_index", part=part),
                    got=line[:60],
                ) from error
            places.setdefault(lemma, []).extend((part, offset) for offset in offsets)
    data = {part: read_bytes(folder / f"data.{part}") for part in _PARTS}

    @lru_cache(maxsize=65536)
    def others(word: str) -> tuple[str, ...]:
        lemmas_found: dict[str, None] = {}
        for part, offset in places.get(word, ()):
            try:
                line = data[part][offset : data[part].index(b"\n", offset)].decode("utf-8").split()
                lemmas = line[4 : 4 + 2 * int(line[3], 16) : 2]
            except (ValueError, IndexError) as error:
                raise InputError(
                    phrase("errors.perturbations.wordnet_in_folder", folder=folder),
                    expected=phrase("errors.perturbations.entry_in_data", part=part),
                    got=word,
                ) from error
            for lemma in lemmas:
                plain = lemma.partition("(")[0]  # "(a)": where an adjective may stand
                if plain.isalpha() and plain.islower() and plain != word:
                    lemmas_found[plain] = None
        return tuple(lemmas_found)

    return others
