"""Noises over text: what they may touch, what they must keep, and where every word comes from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.read import read
from regard.errors import EnvironmentProblem, InputError, UnknownName, Unsupported
from regard.models.ask.lexicon import lexicon
from regard.models.read import words
from regard.perturbations import sources
from regard.perturbations.apply import SEVERITIES, noises, perturbed, perturber
from regard.perturbations.chinese import LOOK_ALIKE, SOUND_ALIKE, groups
from regard.perturbations.keys import NEAR
from regard.perturbations.script import Script
from regard.protocols import Lexicon
from regard.records import Example, Perturbed, Spec
from regard.testing.battery import check_perturbation
from regard.testing.perturbation_rules import edits

TEXT = "A quiet, moving film that doesn't try (too hard) to please anybody: it never got more than 3.5 stars from me."
NAMES = [spec.name for spec in noises("text")]


def put(name: str, severity: int = 3, text: str = TEXT, seed: int = 0, **params: object) -> Perturbed:
    spec = Spec("perturbation", name, dict(params))  # type: ignore[arg-type]
    return perturbed(Example("a", {"text": text}), spec, severity, seed)


def text_of(made: Perturbed) -> str:
    return str(made.example.inputs["text"])


@given(st.text(alphabet="ab1 2.,'_-\n\x01\x1c!Z~^`[]\\\t", max_size=30))
def test_words_of_ascii_are_the_words_of_the_slow_way(text: str) -> None:
    assert words.word_spans(text) == words._spans(text)
    parts = words.word_parts(text)
    assert "".join(parts) == text
    assert parts[1::2] == [text[a:b] for a, b in words.word_spans(text)]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(text=st.text(alphabet="abcdefg hiJKL.,'-é3自然在再!\n", max_size=60), severity=st.sampled_from(SEVERITIES))
def test_the_alignment_is_true_for_any_text(name: str, text: str, severity: int) -> None:
    made = put(name, severity, text)
    before, after = Script.of(Example("a", {"text": text})).words, Script.of(made.example).words
    assert made.origin is not None
    assert len(made.origin) == len(after)
    for word, origin in zip(after, made.origin, strict=True):
        if origin >= 0 and word not in before:  # a changed word still resembles what it was
            assert edits(word, before[origin]) <= max(len(word), len(before[origin]))
    if text_of(made) == text:
        assert made.origin.tolist() == list(range(len(before)))


def test_seed_severity_name_and_id_decide_and_nothing_else() -> None:
    spec = Spec("perturbation", "keyboard")
    many = [Example(str(i), {"text": TEXT}) for i in range(20)]
    forward = [text_of(perturber(spec)(e, 3)) for e in many]
    put_on = perturber(spec)
    backward = [text_of(put_on(e, 3)) for e in reversed(many)]
    assert forward == backward[::-1]
    assert len(set(forward)) == 20
    assert text_of(perturbed(many[0], spec, 3, seed=1)) != forward[0]
    assert text_of(perturbed(many[0], spec, 4)) != forward[0]
    # one noise with another setting is put on the same words
    short = perturbed(many[0], Spec("perturbation", "keyboard", {"shortest": 1}), 3)
    assert text_of(short) != TEXT


def test_keyboard_hits_one_neighbour_in_the_stated_share_of_words() -> None:
    words_before = Script.of(Example("a", {"text": TEXT})).words
    for severity, share in zip(SEVERITIES, (0.05, 0.1, 0.2, 0.35, 0.5), strict=True):
        after = Script.of(put("keyboard", severity).example).words
        pairs = [(a, b) for a, b in zip(words_before, after, strict=True) if a != b]
        assert len(pairs) == max(1, round(share * len(words_before)))
        for a, b in pairs:
            ((old, new),) = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
            assert new in NEAR[old]
    assert set(NEAR["q"]) == {"w", "a"}
    assert set(NEAR["G"]) == set("FHTYVB")


def test_a_mark_of_a_person_moves_with_its_word() -> None:
    marked = Example("a", {"text": "so very quiet and moving"}, rationale=((8, 13),))
    made = perturbed(marked, Spec("perturbation", "filler"), 5)
    (span,) = made.example.rationale or ()
    assert text_of(made)[int(span[0]) : int(span[1])] == "quiet"
    gone = perturbed(replace(marked, rationale=((0, 2), (8, 13))), Spec("perturbation", "keyboard"), 5).example
    assert len(gone.rationale or ()) == 2


def test_both_texts_of_a_pair_count() -> None:
    pair = Example("p", {"text": "one two three four", "text_pair": "five six seven eight"}, label=1)
    made = perturbed(pair, Spec("perturbation", "keyboard"), 5)
    assert made.origin is not None
    assert made.origin.tolist() == list(range(8))
    order = perturbed(pair, Spec("perturbation", "word_order"), 5)
    assert order.origin is not None
    assert sorted(order.origin.tolist()) == list(range(8))
    assert set(order.origin[:4]) == {0, 1, 2, 3}  # no word goes to the other text


def test_words_that_go_come_and_move() -> None:
    for seed in range(20):
        dropped = put("drop_words", 5, "it is not good and was never fun", seed)
        assert {"not", "never"} <= set(text_of(dropped).split())
        assert dropped.origin is not None
        assert -1 not in dropped.origin
    filled = put("filler", 5)
    assert filled.origin is not None
    kept = [o for o in filled.origin.tolist() if o >= 0]
    assert kept == list(range(len(Script.of(Example("a", {"text": TEXT})).words)))
    moved = put("word_order", 5, window=2)
    assert moved.origin is not None
    assert sorted(moved.origin.tolist()) == list(range(len(moved.origin)))
    letters = [w for w, word in enumerate(Script.of(Example("a", {"text": TEXT})).words) if word[0].isalnum()]
    place = {w: i for i, w in enumerate(letters)}
    assert all(abs(place[int(o)] - place[j]) <= 1 for j, o in enumerate(moved.origin) if j in place)
    assert text_of(put("neutral_suffix", 1)).startswith(TEXT)


def test_joined_and_split_words_know_where_they_come_from() -> None:
    seen = set()
    for seed in range(40):
        made = put("whitespace", 5, "alpha beta gamma", seed)
        after = Script.of(made.example).words
        assert made.origin is not None
        for word, origin in zip(after, made.origin, strict=True):
            known = ("alpha", "beta", "gamma")[origin]
            seen.add("part" if word != known and word in known else "joined" if word != known else "same")
            assert word in known or known in word or word[: len(known)][:2] == known[:2]
    assert seen == {"part", "joined", "same"}


def test_homoglyphs_look_the_same_and_case_keeps_letters() -> None:
    made = text_of(put("homoglyphs", 5, whole=True))
    assert made != TEXT
    assert len(made) == len(TEXT)
    assert not made.isascii()
    assert text_of(put("letter_case", 5)).lower() == TEXT.lower()
    assert text_of(put("diacritics", 5, "crème brûlée", adds=False)) in ("creme brûlée", "crème brulee")


def test_chinese_characters_stay_in_their_group_and_negations_stay() -> None:
    text = "三十年后的今天，他仍然在那里工作，而且非常高兴；我们都很喜欢他的电影和音乐，没有不高兴。"
    for name, table in (("similar_characters", LOOK_ALIKE), ("homophones", SOUND_ALIKE)):
        others = groups(table)
        assert not set("不没无") & set(others)
        assert len(others) > 200
        made = text_of(put(name, 5, text))
        pairs = [(a, b) for a, b in zip(text, made, strict=True) if a != b]
        assert pairs
        assert all(b in others[a] for a, b in pairs)
        assert text_of(put(name, 5)) == TEXT


def test_synonyms_from_a_dictionary(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"quiet": ["calm"], "FILM": ["movie"]}))
    (tmp_path / "mine.tsv").write_text("quiet\tcalm\nfilm\tmovie\n")
    for name in ("mine.json", "mine.tsv"):
        made = put("synonym", 5, "Quiet FILM", source=str(tmp_path / name))
        assert text_of(made) in ("Calm FILM", "Quiet MOVIE")
    with pytest.raises(InputError, match="a source of synonyms"):
        put("synonym")
    with pytest.raises(InputError, match="no such file"):
        put("synonym", source=str(tmp_path / "none.json"))
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(InputError, match="something else"):
        put("synonym", source=str(tmp_path / "list.json"))


@pytest.mark.wording
def test_synonyms_from_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"index.{part}").write_text("  1 the licence\n")
        (tmp_path / f"data.{part}").write_text("  1 the licence\n")
    line = "00000018 00 a 03 quiet 0 calm(a) 0 New_York 0 000 | not loud\n"
    data = "  1 the licence\n"
    (tmp_path / "data.adj").write_text(data + line)
    (tmp_path / "index.adj").write_text(f"  1 the licence\nquiet a 1 1 ! 1 0 {len(data):08d}\n")
    assert sources.source(str(tmp_path))("quiet") == ("calm",)
    assert sources.source(str(tmp_path))("film") == ()
    (tmp_path / "data.adj").unlink()
    sources.source.cache_clear()
    with pytest.raises(InputError, match=r"no data\.adj"):
        sources.source(str(tmp_path))
    monkeypatch.setattr(sources, "USUAL", ())
    with pytest.raises(EnvironmentProblem, match="WordNet"):
        sources.source("wordnet")


class _Speller:
    """As much of a model as the noise asks for."""

    fingerprint = "speller"

    def lexicon(self) -> Lexicon:
        texts = ("good", "fine", "bad", "ing", "film")
        vectors = np.array([[1, 0.1], [1, 0], [-1, 0.2], [1, 0.1], [0, 1]], np.float32)
        return Lexicon(np.arange(5), texts, np.array([True, True, True, False, True]), vectors)


lexicon.register(_Speller, _Speller.lexicon)


def test_neighbours_come_from_the_models_own_embeddings() -> None:
    spec = Spec("perturbation", "neighbour")
    made = perturbed(Example("a", {"text": "Good bad film"}), spec, 5, 0, _Speller())
    assert text_of(made) == "Fine bad film"  # the opposite is far, a piece of a word is none
    with pytest.raises(Unsupported, match="a model to take words from"):
        perturber(spec)


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="severity of 1 to 5"):
        put("keyboard", 6)
    with pytest.raises(UnknownName, match="keyboard"):
        put("keybord")
    with pytest.raises(Unsupported, match="a noise for image"):
        perturbed(Example("i", {"image": np.zeros((4, 4))}), Spec("perturbation", "keyboard"), 1)


def test_the_battery_catches_a_noise_that_breaks_the_rules() -> None:
    from regard.registry import perturbation

    def careless(example: Example, severity: int, rng: object) -> Perturbed:
        """Draws from the global numbers and forgets the label."""
        return Perturbed(Example(example.id, {"text": f"{np.random.rand()} {example.inputs['text']}"}), np.zeros(1))

    careless.__module__ = "__main__"
    with pytest.raises(AssertionError) as said:
        check_perturbation(perturbation(modality="text", family="x", scale="")(careless))
    for words_said in ("scale=", "label", "origin has 1 entries", "global random numbers"):
        assert words_said in str(said.value), words_said


def test_chinese_tables_turn_nothing_around() -> None:
    for table in (LOOK_ALIKE, SOUND_ALIKE):
        others = groups(table)
        assert not {*"不没无非"} & {*others}
        for one, other in ("买卖", "还坏", "爱哀", "四死"):
            assert other not in others.get(one, "")
            assert one not in others.get(other, "")


def test_reviews_are_reordered() -> None:
    """A noise that leaves texts as they are would look harmless whatever the model."""
    for example in list(read("reviews", limit=30)):
        made = [perturbed(example, Spec("perturbation", "word_order"), s, seed=0) for s in (1, 5)]
        orders = [np.asarray(m.origin) for m in made]
        moved = [int((order != np.arange(len(order))).sum()) for order in orders]
        assert len(orders[0]) < 5 or 2 <= moved[0] <= moved[1], example.inputs["text"]
        assert sorted(orders[1]) == list(range(len(orders[0])))
