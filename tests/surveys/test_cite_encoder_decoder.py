"""Citations of a hand-made T5 that copies the names its encoder reads, whose numbers can be computed on paper."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from regard.errors import InputError, Unsupported
from regard.models.open.load import load
from regard.surveys.cite import cite
from regard.testing.copier import copier

CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Paris")
FACTS = ["Anna lives in Rome.", "Bert lives in Oslo.", "Clara lives in Lima.", "David lives in Cairo."]
TEXT = "summarize: " + " ".join(FACTS)
STRENGTH = 4.0


@cache
def model() -> Any:
    module, tokenizer = copier(
        CITIES, [TEXT, "question : Where does Anna live ? context"], strength=STRENGTH, encoder=True
    )
    return load(module, processor=tokenizer, name="copier", device="cpu")


def on_paper(seen: int, *, included: bool) -> float:
    """Log-odds of a name while `seen` different names are visible."""
    others = len(model().traits.tokenizer) - 1
    own = STRENGTH / np.sqrt(seen) if included else 0.0
    rivals = seen - included
    loud = np.exp(STRENGTH / np.sqrt(seen)) if seen else 1.0
    return float(own - np.log(rivals * loud + others - rivals))


def test_effects_are_those_computed_on_paper() -> None:
    result = cite(model(), TEXT, "Rome")
    assert [source.text for source in result.sources] == FACTS  # the task is no source, the last sentence is one
    (sentence,) = result.sentences
    base = on_paper(4, included=True)
    assert sentence.log_odds == pytest.approx(base, abs=1e-4)
    assert sentence.effects[0] == pytest.approx(base - on_paper(3, included=False), abs=1e-4)
    assert sentence.effects[1] == pytest.approx(base - on_paper(3, included=True), abs=1e-4)
    assert sentence.exact[0] == pytest.approx(sentence.effects[0], abs=1e-4)  # this encoder mixes no positions
    assert sentence.whole == pytest.approx(base - on_paper(0, included=False), abs=1e-4)
    assert (sentence.status, sentence.cited, result.ranking) == ("cite", (0,), "row_knock_out")
    assert sentence.alone is not None
    gain = on_paper(1, included=True) - on_paper(0, included=False)
    assert sentence.alone.gain == pytest.approx(gain, abs=1e-4)
    assert result.reliability is None  # the error rates were measured on causal models
    assert result.passes < 4


def test_every_sentence_of_a_summary_has_its_own_source() -> None:
    result = cite(model(), [{"role": "user", "content": TEXT}], "Lima\nOslo\nParis")
    assert [sentence.cited for sentence in result.sentences] == [(2,), (1,), ()]
    assert [sentence.status for sentence in result.sentences] == ["cite", "cite", "none"]
    assert result.answer[slice(result.citations[1].start, result.citations[1].stop)] == "Oslo"


def test_the_model_writes_the_summary_itself() -> None:
    result = cite(model(), "summarize: Bert lives in Oslo. Anna reads.", new_tokens=2)
    assert (result.generated, result.answer.split()[0], result.sentences[0].cited) == (True, "Oslo", (0,))


def test_a_contrast_and_a_prefix_of_the_decoder() -> None:
    why = cite(model(), TEXT, "Rome", contrast="Oslo")
    assert why.sentences[0].cited == (0,)
    assert why.matrix[0, 1] < -1
    begun = cite(model(), TEXT, "Lima", prefix="Clara lives in ")
    assert (begun.sentences[0].tokens, begun.sentences[0].cited) == (1, (2,))


def test_the_question_is_no_source() -> None:
    text = "question: Where does Anna live? context: " + " ".join(FACTS)
    result = cite(model(), text, "Rome")
    assert [source.text for source in result.sources] == FACTS
    assert result.sentences[0].cited == (0,)


def test_chats_and_prompts_without_other_text_are_refused() -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TEXT}]
    with pytest.raises(Unsupported, match="one message of the user"):
        cite(model(), turns, "Rome")
    with pytest.raises(InputError, match="other text than its sources"):
        cite(model(), " ".join(FACTS), "Rome")
    with pytest.raises(Unsupported, match="one text"):
        cite(model(), TEXT, "Rome", documents=[{"text": "Anna lives in Rome."}])
