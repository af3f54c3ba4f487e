"""Citations of a hand-made copier, whose numbers can be computed on paper."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import InputError, Unsupported
from regard.models.open.load import load
from regard.records import Floats
from regard.surveys.citation_reliability import MEASURED, measured_reliability
from regard.surveys.citation_rule import DELTA, GAIN, GAINS, SUFFICIENT
from regard.surveys.cite import Evidence, cite
from regard.testing.architectures import find
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Seoul", "Paris")
FACTS = [
    "Anna lives in Rome. She sings.",
    "Bert lives in Oslo. He swims.",
    "Clara lives in Lima. She reads.",
    "David lives in Cairo. He runs.",
]
AGREES = "Anna has a flat in Rome."
QUESTION = "Where does Anna live?"
STRENGTH = 4.0


@cache
def model() -> Any:
    module, tokenizer = copier(CITIES, [*FACTS, AGREES, QUESTION, "罗马 奥斯陆 。"], strength=STRENGTH)
    return load(module, processor=tokenizer, name="copier")


@cache
def vocabulary_size() -> int:
    return int(model().module.config.vocab_size)


def chat(facts: Sequence[str], question: str = QUESTION) -> list[dict[str, str]]:
    return [{"role": "user", "content": "\n".join(f"- {fact}" for fact in facts) + f"\n\n{question}"}]


def on_paper(name: str, seen: Sequence[str]) -> float:
    """Log-odds of a name when the texts `seen` are visible."""
    counts = Counter(word.strip(".,") for text in seen for word in text.split())
    amounts = np.array([counts[city] for city in CITIES], float)
    logits = STRENGTH * amounts / max(float(np.linalg.norm(amounts)), 1e-9)
    own = CITIES.index(name)
    others = np.delete(logits, own)
    return float(logits[own] - np.log(np.exp(others).sum() + vocabulary_size() - len(CITIES)))


def test_effects_are_those_computed_on_paper() -> None:
    result = cite(model(), chat(FACTS), "Rome", sources=FACTS)
    (sentence,) = result.sentences
    base = on_paper("Rome", FACTS)
    effects = [base - on_paper("Rome", FACTS[:i] + FACTS[i + 1 :]) for i in range(4)]
    assert sentence.log_odds == pytest.approx(base, abs=1e-4)
    assert sentence.effects == pytest.approx(effects, abs=1e-4)
    # this model has one layer of attention without positions: hiding a source is deleting it
    assert sentence.exact[0] == pytest.approx(effects[0], abs=1e-4)
    assert sentence.whole == pytest.approx(base - on_paper("Rome", []), abs=1e-4)
    assert (sentence.status, sentence.cited, sentence.supported) == ("cite", (0,), True)
    assert sum(value is not None for value in sentence.exact) == 1  # no other source could be cited
    assert sentence.alone is not None
    assert sentence.alone.gain == pytest.approx(on_paper("Rome", FACTS[:1]) - on_paper("Rome", []), abs=1e-4)
    assert sentence.alone.probability == pytest.approx(1 / (1 + np.exp(-on_paper("Rome", FACTS[:1]))), abs=1e-5)
    assert sentence.alone.word == pytest.approx(
        sentence.alone.probability, abs=1e-6
    )  # the only word is the decisive one
    (citation,) = result.citations
    assert (citation.sources, citation.start, citation.stop) == ((0,), 0, 4)
    assert result.answer[citation.start : citation.stop] == "Rome"
    assert result.matrix.shape == (1, 4)
    assert result.ranking == "row_knock_out"


class Additive(Evidence):
    """Hiding both copies of a fact costs as much as hiding one of them after the other, as in deeper models."""

    def hiding(self, groups: Sequence[Sequence[int]]) -> Floats:
        return np.array([[2.0 * len({0, 4} & set(group))] for group in groups])


def test_two_sources_that_agree_are_either(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [*FACTS, AGREES]
    monkeypatch.setattr("regard.surveys.cite.Evidence", Additive)
    result = cite(model(), chat(facts), "Rome", sources=facts, delta=1.5)
    (sentence,) = result.sentences
    assert sentence.pair is not None
    assert sentence.pair.exact == pytest.approx(on_paper("Rome", facts) - on_paper("Rome", FACTS[1:]), abs=1e-4)
    assert all(value is not None and value < 1.5 for value in (sentence.exact[0], sentence.exact[4]))
    assert (sentence.status, sentence.cited, sentence.supported) == ("either", (0, 4), True)
    assert [(c.sources, c.effect) for c in result.citations] == [((0, 4), 4.0)]


def test_two_weak_sources_are_unclear() -> None:
    """Deleting both is no reason to cite two sources if hiding the better one costs less than the threshold."""
    facts = [*FACTS, AGREES]
    (sentence,) = cite(model(), chat(facts), "Rome", sources=facts, delta=1.5).sentences
    assert max(sentence.effects) < 1.5 < sentence.whole
    assert (sentence.status, sentence.cited, sentence.supported) == ("unclear", (), False)


def test_an_answer_that_stands_nowhere_is_not_cited() -> None:
    result = cite(model(), chat(FACTS), "Paris", sources=FACTS)
    assert result.sentences[0].status == "none"
    assert (result.citations, result.supported) == ((), (False,))


def test_an_answer_in_the_question_is_not_cited() -> None:
    result = cite(model(), chat(FACTS[1:], "Anna lives in Rome. Where does Anna live?"), "Rome", sources=FACTS[1:])
    assert result.sentences[0].status == "none"


def test_a_second_source_needs_half_of_the_firsts_effect() -> None:
    facts = ["Rome Rome Rome Rome.", "Anna sings in Rome.", "Oslo Oslo Oslo Oslo."]
    (sentence,) = cite(model(), chat(facts), "Rome", sources=facts, delta=0.02).sentences
    assert 0.02 < sentence.effects[1] < 0.5 * sentence.effects[0]
    assert (sentence.cited, sentence.exact[1]) == ((0,), None)


def test_every_sentence_has_its_own_sources() -> None:
    result = cite(model(), chat(FACTS), "Lima. Oslo.", sources=FACTS)
    assert [sentence.cited for sentence in result.sentences] == [(2,), (1,)]
    assert [sentence.tokens for sentence in result.sentences] == [2, 2]
    joint = cite(model(), chat(FACTS), "Lima. Oslo.", sources=FACTS, units="answer")
    assert set(joint.sentences[0].cited) == {1, 2}


def test_chinese_prompts_and_answers() -> None:
    facts = ["安娜 住 在 罗马 。", "博特 住 在 奥斯陆 。"]
    turns = [{"role": "user", "content": "".join(facts) + "安娜 住 在 哪里 ？"}]
    for strength, status in ((3.0, "unclear"), (8.0, "cite")):  # alone, the note gains as many nats; 5 are needed
        module, tokenizer = copier(["罗马", "奥斯陆"], ["安娜 住 在 。 ？ 哪里 博特"], strength=strength)
        result = cite(module, turns, "罗马", tokenizer=tokenizer)
        assert [source.text for source in result.sources] == facts
        assert (result.sentences[0].status, result.thresholds.gain) == (status, 5.0)
    assert result.sentences[0].cited == (0,)


def test_the_last_assistant_message_is_the_answer() -> None:
    turns = [*chat(FACTS), {"role": "assistant", "content": "Oslo"}]
    result = cite(model(), turns, sources=FACTS)
    assert (result.answer, result.generated, result.sentences[0].cited) == ("Oslo", False, (1,))
    with pytest.raises(InputError, match="one answer"):
        cite(model(), turns, "Rome", sources=FACTS)


def test_token_ids_and_text_give_the_same() -> None:
    ids = model().traits.tokenizer("Lima Cairo")["input_ids"]
    by_ids = cite(model(), chat(FACTS), ids, sources=FACTS)
    by_text = cite(model(), chat(FACTS), "Lima Cairo", sources=FACTS)
    assert by_ids.answer == "Lima Cairo"
    assert np.array_equal(by_ids.matrix, by_text.matrix)


def test_without_an_answer_the_model_writes_one() -> None:
    result = cite(model(), chat([FACTS[1]]), sources=[FACTS[1]], new_tokens=3)
    assert result.generated
    assert result.answer.split()[0] == "Oslo"
    assert result.sentences[0].cited == (0,)


def test_a_prefix_is_read_but_not_scored() -> None:
    result = cite(model(), chat(FACTS), " Rome", sources=FACTS, prefix=" Anna lives in")
    assert (result.sentences[0].tokens, result.sentences[0].cited) == (1, (0,))


def test_plain_prompts_need_no_template() -> None:
    prompt = " ".join([*FACTS, QUESTION])
    result = cite(
        model(), prompt, "Cairo", sources=[(0, prompt.index(fact), prompt.index(fact) + len(fact)) for fact in FACTS]
    )
    assert result.sentences[0].cited == (3,)


def test_cost_is_about_two_prompt_passes() -> None:
    result = cite(model(), chat(FACTS), "Rome", sources=FACTS)
    n = result.prompt_tokens
    assert result.ranking_passes == pytest.approx((n + 5) / n, abs=1e-3)  # one pass, 4 knock-outs and their control
    assert result.ranking_passes < result.passes < 4


def test_models_without_rows_are_ranked_by_deletion() -> None:
    row = find("BLOOM")
    module = dataclasses.replace(row, settings={**row.settings, "vocab_size": vocabulary_size()}).build()
    result = cite(module, chat(FACTS), "Rome", sources=FACTS, tokenizer=model().traits.tokenizer, delta=0.01)
    assert result.ranking == "leave_source_out"
    assert [note.key for note in result.notes] == ["cite.note.no_rows"]
    assert list(result.sentences[0].effects) == list(result.sentences[0].exact)


def test_a_joint_tokenization_that_differs_is_noted() -> None:
    prompt = " ".join([*FACTS, "Anna lives in Ro"])
    result = cite(model(), prompt, "me", sources=[(0, 0, len(FACTS[0]))])
    assert [note.key for note in result.notes] == ["cite.note.joined"]


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("some text", {"answer": "  "}),
        ("token ids", {"answer": [10**6]}),
        ("token ids", {"answer": []}),
        ("above 0", {"check": 0}),
        ("above 0", {"delta": float("nan")}),
        ("units", {"units": "letter"}),
        ("no such text", {"sources": ["Nobody lives here."]}),
        ("at most 512 tokens", {"answer": "Rome " * 600}),
        ("at least one token", {"sources": [(0, 3, 6)]}),
    ],
)
def test_bad_input_is_refused(words: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=words):
        cite(model(), chat(FACTS), **{"answer": "Rome", "sources": FACTS, **changes})


def test_classifiers_are_refused() -> None:
    row = dataclasses.replace(find("BERT"), model="BertForSequenceClassification")
    classifier = dataclasses.replace(row, settings={**row.settings, "vocab_size": vocabulary_size()}).build()
    with pytest.raises(Unsupported, match="language model"):
        cite(classifier, "One. Two?", "x", tokenizer=model().traits.tokenizer)


def test_long_answers_are_cut_into_sentences_of_their_own() -> None:
    answer = "Rome. Oslo. " * 100
    result = cite(model(), chat(FACTS), answer, sources=FACTS)
    assert len(result.sentences) == 200
    assert sum(sentence.tokens for sentence in result.sentences) == 400


def test_redaction_leaves_no_word() -> None:
    facts = ["Anna lives in Rome.", "Bert lives in Oslo."]
    result = cite(model(), chat(facts), "Rome. Zanzibar.", sources=facts)
    canaries = {"Anna", "Bert", "Rome", "Oslo", "Zanzibar", "lives"}
    assert all(word in result._repr_html_() for word in canaries)
    hidden = result.redacted()
    written = hidden._repr_html_() + json.dumps(hidden.to_json())
    assert not [word for word in canaries if word in written]
    assert np.array_equal(hidden.matrix, result.matrix)


@cache
def hundred() -> tuple[Any, str, list[tuple[int, int, int]]]:
    """A hundred facts, of which number 63 alone names Rome."""
    facts = ["Bert swims to Oslo." if i == 0 else "Bert swims." for i in range(100)]
    facts[63] = "Anna lives in Rome."
    starts = np.cumsum([0, *(len(fact) + 1 for fact in facts[:-1])]).tolist()
    spans = [(0, start, start + len(fact)) for start, fact in zip(starts, facts, strict=True)]
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION, "swims to"], strength=6.0)
    config: Any = module.config
    config.max_position_embeddings = tokenizer.model_max_length = 2000
    return load(module, processor=tokenizer), "\n".join(facts) + "\nWhere does Anna live?", spans


def test_of_a_hundred_sources_gradients_choose_those_hidden_alone() -> None:
    live, prompt, spans = hundred()
    result = cite(live, prompt, "Rome", sources=spans)
    effects = result.matrix[0]
    assert (int(np.nanargmax(effects)), int(np.isfinite(effects).sum())) == (63, 16)
    assert result.sentences[0].cited == (63,)
    assert [note.key for note in result.notes] == ["cite.note.screened"]
    # the plain pass, one row backward (3) that proves the rows, 16 rows, 6 groups
    assert result.ranking_passes == pytest.approx(1 + (3 + 16 + 6) / result.prompt_tokens, abs=1e-3)


def test_halving_finds_a_source_that_gradients_rank_last(monkeypatch: pytest.MonkeyPatch) -> None:
    live, prompt, spans = hundred()
    shares = np.where(np.arange(100) == 63, -1.0, 0.0)[None]
    monkeypatch.setattr("regard.models.chat.answer_objective.AnswerObjective.contributions", lambda *_: shares)
    sentence = cite(live, prompt, "Rome", sources=spans).sentences[0]
    assert sentence.cited == (63,)
    assert sum(effect is not None for effect in sentence.effects) < 30


def test_json_is_complete_and_finite(tmp_path: Path) -> None:
    result = cite(model(), chat(FACTS), "Rome. Paris.", sources=FACTS)
    facts = json.loads(result.save(tmp_path / "cited.json").read_text("utf-8"))
    assert facts["schema"] == "regard.cite/1"
    assert facts["citations"][0]["sources"] == [0]
    assert facts["sentences"][0]["exact"][0] == pytest.approx(result.sentences[0].exact[0])
    json.dumps(facts, allow_nan=False)
    with pytest.raises(InputError, match=r"\.html"):
        result.save(tmp_path / "cited.txt")


def test_a_span_is_cited_alone() -> None:
    result = cite(model(), chat(FACTS), "Lima. Oslo.", sources=FACTS, span="Oslo")
    (sentence,) = result.sentences
    assert (sentence.text, sentence.start, sentence.tokens, sentence.cited) == ("Oslo", 6, 1, (1,))
    base = on_paper("Oslo", [*FACTS, "Lima"])  # the answer so far counts as seen
    effects = [base - on_paper("Oslo", [*FACTS[:i], *FACTS[i + 1 :], "Lima"]) for i in range(4)]
    assert sentence.effects == pytest.approx(effects, abs=1e-4)
    assert cite(model(), chat(FACTS), "Lima. Oslo.", sources=FACTS, span=(6, 10)).sentences == result.sentences


def test_a_contrast_asks_why_one_rather_than_the_other() -> None:
    result = cite(model(), chat(FACTS), "Rome.", sources=FACTS, span="Rome", contrast="Oslo Oslo")
    (sentence,) = result.sentences
    # log P(Rome) / P(Oslo Oslo): hiding Anna's note takes Rome away, hiding Bert's takes Oslo away twice
    base = log_ratio(FACTS)
    effects = [base - log_ratio(FACTS[:i] + FACTS[i + 1 :]) for i in range(4)]
    assert sentence.log_odds == pytest.approx(base, abs=1e-4)
    assert sentence.effects == pytest.approx(effects, abs=1e-4)
    assert (sentence.cited, result.contrast) == ((0,), "Oslo Oslo")
    ids = model().traits.tokenizer("Oslo Oslo")["input_ids"]
    by_ids = cite(model(), chat(FACTS), "Rome.", sources=FACTS, span="Rome", contrast=ids)
    assert np.allclose(by_ids.matrix, result.matrix)


def log_ratio(seen: Sequence[str]) -> float:
    rome, oslo = on_paper("Rome", seen), on_paper("Oslo", seen)
    # the second Oslo is written after the first one, which counts as seen
    again = on_paper("Oslo", [*seen, "Oslo"])
    return float(-np.logaddexp(0, -rome) + np.logaddexp(0, -oslo) + np.logaddexp(0, -again))


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("stands in the answer once", {"span": "Rome"}),
        ("stands in the answer once", {"span": "Berlin"}),
        ("empty text", {"span": " "}),
        ("inside 0 to", {"span": (3, 99)}),
        ("a token begins", {"span": (1, 3)}),
        ("start, stop", {"span": (1, 2, 3)}),
        ("empty text", {"contrast": " "}),
        ("another text", {"contrast": "Rome Rome"}),
        ("token ids", {"contrast": [10**6]}),
    ],
)
def test_bad_spans_and_contrasts_are_refused(words: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=words):
        cite(model(), chat(FACTS), "Rome Rome", sources=FACTS, **changes)


def test_thresholds_and_measured_errors_stand_in_the_result() -> None:
    result = cite(model(), chat(FACTS), "Rome", sources=FACTS)
    facts = result.to_json()
    assert facts["thresholds"] == {"effect": 1.0, "gain": 2.0, "probability": 0.05, "word": 0.2}
    assert facts["reliability"]["false"]["n"] >= 150
    assert facts["reliability"]["false"]["high"] <= 0.05
    assert cite(model(), chat(FACTS), "Rome", sources=FACTS, delta=0.5).reliability is None


def test_longer_answers_have_error_rates_only_under_the_rule_that_was_measured() -> None:
    facts = {"sources": FACTS, "passes": 50.0}
    assert cite(model(), chat(FACTS), "Rome", **facts).reliability == MEASURED["en"]
    assert cite(model(), chat(FACTS), "Rome. Oslo.", **facts).reliability is None
    assert cite(model(), chat(FACTS), "Rome. Oslo.", sources=FACTS).reliability == MEASURED["en"]
    assert measured_reliability("王芳住在北京。她会游泳。") == MEASURED["zh"]


MEASUREMENTS = {"en": ("citations_82",), "zh": ("citations_83_zh",)}


@pytest.mark.parametrize("language", MEASUREMENTS)
def test_measured_errors_are_those_of_the_benchmark(language: str) -> None:
    rows: list[dict[str, Any]] = []
    for name in MEASUREMENTS[language]:
        path = Path(__file__).parents[2] / "benchmarks" / "results" / f"{name}.json"
        record = json.loads(path.read_text("utf-8"))
        gain = record["gain"][language] if isinstance(record["gain"], dict) else record["gain"]
        assert (record["delta"], gain, record["sufficient"]) == (DELTA, GAINS.get(language, GAIN), SUFFICIENT)
        rows += record["rows"]
    measured = MEASURED[language]
    cited = [row for row in rows if row["gold"] and row["cited"]]
    strange = [row for row in rows if not row["gold"]]
    wrong = [row for row in cited if not set(row["cited"]) <= set(row["gold"])]
    assert (measured.wrong.k, measured.wrong.n) == (len(wrong), len(cited))
    assert (measured.false.k, measured.false.n) == (sum(bool(row["cited"]) for row in strange), len(strange))
    assert measured.prompts == len({row["number"] for row in rows})
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "natural_citations.json"
    natural = json.loads(path.read_text("utf-8"))["figures"][f"{language} test"]["false_citations"]
    assert (measured.natural.k, measured.natural.n) == (natural["k"], natural["n"])


def test_an_answer_of_two_thousand_tokens_is_cited_or_refused() -> None:
    answer = "Rome. " * 1000
    with pytest.raises(InputError, match="at most 512 tokens"):
        cite(model(), chat(FACTS), answer, sources=FACTS)
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION], strength=STRENGTH)
    config: Any = module.config
    config.max_position_embeddings = tokenizer.model_max_length = 4000
    result = cite(module, chat(FACTS[:2]), answer, sources=FACTS[:2], tokenizer=tokenizer, units="answer")
    assert (result.sentences[0].tokens, int(result.matrix.argmax())) == (2000, 0)


def test_a_prompt_longer_than_the_model_is_refused() -> None:
    with pytest.raises(InputError, match="at most 512 tokens"):
        cite(model(), chat([*FACTS, "Bert swims. " * 300]), "Rome", sources=FACTS)


def test_a_model_of_nan_is_refused() -> None:
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION])
    next(module.parameters()).data.fill_(float("nan"))
    with pytest.raises(InputError, match="NaN"):
        cite(module, chat(FACTS), "Rome", sources=FACTS, tokenizer=tokenizer)


def test_messages_need_a_chat_template() -> None:
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION])
    tokenizer.chat_template = None
    with pytest.raises(Unsupported, match="chat template"):
        cite(module, chat(FACTS), "Rome", sources=FACTS, tokenizer=tokenizer)


def test_a_template_may_reorder_messages() -> None:
    module, tokenizer = copier(CITIES, [*FACTS, QUESTION], strength=STRENGTH)
    turns = [{"role": "user", "content": FACTS[0]}, {"role": "user", "content": "\n".join([*FACTS[1:], QUESTION])}]
    plain = cite(module, turns, "Rome", sources=FACTS, tokenizer=tokenizer)
    tokenizer.chat_template = tokenizer.chat_template.replace("in messages", "in messages | reverse")
    turned = cite(module, turns, "Rome", sources=FACTS, tokenizer=tokenizer)
    assert turned.sentences[0].cited == plain.sentences[0].cited == (0,)
    assert np.allclose(turned.matrix, plain.matrix, atol=1e-4)  # this model does not know positions


def test_a_source_that_stands_twice_is_noted_and_hidden_in_both_places() -> None:
    result = cite(model(), chat([FACTS[0], FACTS[1], FACTS[0]]), "Rome", sources=FACTS[:2])
    assert [note.key for note in result.notes] == ["cite.note.twice"]
    assert result.sentences[0].cited == (0,)
    assert len(result.sources[0].spans) == 2


@pytest.mark.parametrize("sources", [[FACTS[0], FACTS[0][:12]], [(0, 2, 12), (0, 8, 20)], ["  "], [(0, 5, 5)], []])
def test_overlapping_and_empty_sources_are_refused(sources: list[Any]) -> None:
    with pytest.raises(InputError, match="source"):
        cite(model(), chat(FACTS), "Rome", sources=sources)
