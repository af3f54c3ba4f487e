"""Attacks on texts: what they find, what they may not do, and that nothing depends on batches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.attacks._characters import one_edit
from regard.attacks._text import Text
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import answers_to, attacked, token_ids
from regard.errors import InputError, UnknownName, Unsupported
from regard.measures.text_distance import edit_distance, ngram_overlap
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.models.read.words import word_spans
from regard.present.messages.messages import rendered
from regard.protocols import Model
from regard.records import Attacked, Example, Threat
from regard.testing.toy import ToyCase


@pytest.fixture(scope="module")
def bilstm() -> Model:
    return load("bilstm", device="cpu")


@pytest.fixture(scope="module")
def short() -> list[Example]:
    found = [e for e in read("reviews", limit=600) if 5 <= len(word_spans(str(e.inputs["text"]))) <= 11]
    return [Example(e.id, e.inputs) for e in found]


def case_of(model: Model, examples: list[Example], batch: int = 64) -> DeskCase:
    return DeskCase(Desk(model, batch=batch), examples)


def test_greedy_finds_a_flip_wherever_one_or_two_words_suffice(bilstm: Model, short: list[Example]) -> None:
    """The oracle asks every change of one and of two words; greedy gets a tenth of its questions."""
    examples = short[:24]
    case = case_of(bilstm, examples)
    threat = Threat(budget=20_000, max_share=0.34, stop_words=True)
    every = attacked(case, "enumeration:words=2,many=3", threat)
    there = [i for i, one in enumerate(every) if one.status == "success"]
    assert len(there) >= 8, "too few texts can be flipped at all for this to be a test"
    found = attacked(case, "greedy_word:many=3", Threat(budget=150, max_share=0.34, stop_words=True))
    hits = sum(found[i].status == "success" for i in there)
    assert hits >= 0.9 * len(there), f"greedy found {hits} of {len(there)}"


@pytest.mark.parametrize("name", ["greedy_word", "greedy_char:importance=gradient", "hotflip", "beam:words=3,many=4"])
def test_nothing_depends_on_the_batch(bilstm: Model, short: list[Example], name: str) -> None:
    threat = Threat(budget=60, max_share=0.4)
    one, many = (attacked(case_of(bilstm, short[:4], batch), name, threat) for batch in (1, 64))
    assert [_key(a) for a in one] == [_key(b) for b in many]


def _key(one: Attacked) -> tuple[object, ...]:
    return one.id, one.status, one.queries, None if one.example is None else one.example.inputs["text"]


def test_budget_constraints_and_honest_successes(bilstm: Model, short: list[Example]) -> None:
    threat = Threat(budget=33, max_share=0.3, min_similarity=0.5, max_edits=2, keep=("film", "movie"))
    case = case_of(bilstm, short[:8])
    for name in ("greedy_char", "hotflip", "greedy_word"):
        for i, one in enumerate(attacked(case, name, threat)):
            assert one.queries <= 33
            if one.status == "skipped" or one.example is None:
                continue
            text = Text(case.examples[i], threat)
            new = [str(one.example.inputs["text"])[a:b] for a, b in word_spans(str(one.example.inputs["text"]))]
            moved = [k for k, (a, b) in enumerate(zip(text.words, new, strict=True)) if a != b]
            assert len(moved) <= max(1, int(0.3 * len(new)))
            assert all(edit_distance(text.words[k], new[k]) <= 2 for k in moved)
            assert all(text.words[k].casefold() not in ("film", "movie", "the", "not") for k in moved)
            assert one.similarity == pytest.approx(ngram_overlap(text.original, str(one.example.inputs["text"])))
            assert one.similarity >= 0.5
            again = answers_to(case.subset([i]), [[one.example]]).distribution
            assert again is not None
            assert (int(again[0].argmax()) != one.before) == (one.status == "success")
            np.testing.assert_allclose(again[0], one.said_after, atol=1e-5)


def test_hotflip_on_sub_words_is_read_as_it_was_meant(short: list[Example]) -> None:
    """Special tokens stay, the text has as many tokens as before, and only words that may be changed differ."""
    model = load("minilm:epochs=1,layers=1,n=1200", device="cpu")
    case = case_of(model, short[:3])
    found = attacked(case, "hotflip:many=12", Threat(budget=40))
    assert any(one.status == "success" for one in found)
    for i, one in enumerate(found):
        if one.example is None:
            continue
        before, after = token_ids(case, case.examples[i]), token_ids(case, one.example)
        special = case.units[i].special
        assert len(before) == len(after)
        assert (before[special] == after[special]).all()
        assert 1 <= (before != after).sum() <= len(before) * 0.5


def test_a_targeted_attack_wants_its_class_and_skips_those_that_have_it() -> None:
    case = ToyCase()
    found = attacked(case, "greedy_word", Threat("targeted", "positive", max_share=1.0, stop_words=True))
    for one, target in zip(found, case.targets, strict=True):
        assert (one.status == "skipped") == (target == 1)
        assert one.status != "success" or one.after == 1
    with pytest.raises(UnknownName, match="positive"):
        attacked(case, "greedy_word", Threat("targeted", "positve"))


def test_importance_by_gradient_costs_one_question() -> None:
    case = ToyCase(("wonderful film and a dull middle",))
    threat = Threat(max_share=1.0, stop_words=True)
    slow, fast = (attacked(case, f"greedy_word:importance={how}", threat)[0] for how in ("deletion", "gradient"))
    assert slow.status == fast.status == "success"
    assert fast.queries < slow.queries


def test_input_reduction_keeps_the_answer_with_fewer_words() -> None:
    found = attacked(ToyCase(("wonderful film of a good year and a dull cast",)), "input_reduction:left=1")[0]
    assert found.status == "success"
    assert found.example is not None
    assert found.example.inputs["text"] == "wonderful"
    assert found.before == found.after == 1
    assert found.extras["words_left"] == 1


def test_input_reduction_does_not_count_punctuation() -> None:
    reduced = attacked(ToyCase(("wonderful , film ! of a good year ...",)), "input_reduction:left=1")[0]
    assert reduced.status == "success"
    assert reduced.extras["words_left"] == 1
    assert reduced.perturbed == 1 - 1 / 6


def test_input_reduction_ends_at_protected_words() -> None:
    threat = Threat(keep=("wonderful", "film", "year"))
    reduced = attacked(ToyCase(("a wonderful film of the year",)), "input_reduction:left=1", threat)[0]
    assert reduced.status == "failed"
    assert reduced.example is not None
    assert reduced.example.inputs["text"] == "wonderful film year"


def test_a_trigger_is_counted_on_texts_it_was_not_found_on() -> None:
    texts = tuple(f"a {w} film of the year" for w in ("wonderful", "good", "truly", "wonderful good", "good truly"))
    found = attacked(ToyCase(texts), "universal_trigger:words=2", Threat(budget=80))
    used = [one for one in found if one.why == "used_for_trigger"]
    tried = [one for one in found if one.status != "skipped"]
    assert len(used) == 3
    assert len(tried) == 2
    assert all(one.queries == 1 for one in tried)
    assert len({tuple(rendered(one.notes)) for one in tried}) == 1, "one trigger for all"
    assert any("terrible" in note for one in tried for note in rendered(one.notes)), (
        "the worst word of the toy is found"
    )


def test_the_explanation_moves_and_the_answer_stays(bilstm: Model, short: list[Example]) -> None:
    case = case_of(bilstm, short[:6])
    found = attacked(case, "explanation_words:many=4", Threat(budget=40, max_share=0.4, stop_words=True))
    met = [one for one in found if one.status != "skipped"]
    assert any(one.status == "success" for one in met)
    for one in met:
        assert one.after == one.before
        assert one.queries <= 40
        p = [said[one.before or 0] for said in (one.said_before, one.said_after)]
        assert abs(p[0] - p[1]) <= 0.1 + 1e-9
        assert one.status != "success" or one.extras["top_k_overlap"] <= 0.5


@pytest.mark.wording
def test_substitutes_from_a_file_and_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"wonderful": ["terrible"]}))
    found = attacked(ToyCase(("wonderful film",)), f"greedy_word:source={path}", Threat(max_share=1.0))[0]
    assert found.status == "success"
    assert found.example is not None
    assert found.example.inputs["text"] == "terrible film"
    assert found.origin == (0, 1)
    path.write_text("[1]")
    with pytest.raises(InputError, match="JSON object"):
        attacked(ToyCase(), f"greedy_word:source={tmp_path / '.' / 'mine.json'},many=1")
    with pytest.raises(InputError, match="neighbours"):
        attacked(ToyCase(), "greedy_word:source=nowhere.json")


def test_a_model_without_a_vocabulary_can_be_misspelt_but_not_flipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(97, 4), nn.AdaptiveAvgPool2d((1, 4)), nn.Flatten(), nn.Linear(4, 2))
    model = wrap(module, lambda text: [sum(map(ord, w)) % 97 for w in text.split()])
    case = DeskCase(Desk(model), [Example("a", {"text": "some longer words"})])
    with pytest.raises(Unsupported, match="vocabulary"):
        attacked(case, "hotflip")
    assert attacked(case, "greedy_char", Threat(max_share=1.0, budget=200))[0].queries > 3


def test_one_edit_is_one_edit() -> None:
    for word in ("film", "wonderful", "great"):
        made = one_edit(word)
        assert made
        assert all(edit_distance(word, other) == 1 and other[0] == word[0] and other[-1] == word[-1] for other in made)
    assert one_edit("to") == one_edit("3.5") == []
