"""Words become placeholders: the same one throughout, and none is left."""

from __future__ import annotations

import re

from fake_run import SENTENCES, fake_run
from hypothesis import given
from hypothesis import strategies as st

from regard.present.report.as_markdown import run_markdown
from regard.present.report.redaction import Redacted
from regard.present.report.report import report
from regard.store.redaction import WORD, Redactor

words = st.lists(st.text("abcdefgh'-.,! 你好", min_size=1, max_size=30), min_size=1, max_size=5)


@given(words)
def test_no_word_is_left_and_equal_words_stay_equal(texts: list[str]) -> None:
    veil = Redactor(texts)
    seen: dict[str, str] = {}
    for text in texts:
        plain, hidden = WORD.findall(text), re.findall(r"w\d+", veil.words(text))
        assert len(plain) == len(hidden)
        for word, placeholder in zip(plain, hidden, strict=True):
            assert seen.setdefault(word.casefold(), placeholder) == placeholder
    assert len(set(seen.values())) == len(seen)


def test_pieces_of_a_word_share_its_number() -> None:
    units = {
        "names": ["[CLS]", "un", "##happy", "!"], "place_kind": "span", "places": [[0, 0], [0, 2], [2, 7], [7, 8]],
        "special": [True, False, False, False], "part": [0, 0, 0, 0],
    }  # fmt: skip
    inputs = {"text": "unhappy!"}
    assert Redactor(["unhappy!"]).units(units, inputs)["names"] == ["[CLS]", "w1.1", "w1.2", "!"]


def test_a_redacted_report_has_no_word_of_the_data() -> None:
    run = fake_run(n=8, problems_=[{"id": "e1", "stage": "encode", "message": "cannot read 'watch .'"}])
    rare = {"tears", "laughed", "jokes", "gorgeous", "begs", "oddly", "watch"}
    assert all(word in " ".join(SENTENCES).lower() for word in rare)
    for shown in (report(Redacted(run)), run_markdown(Redacted(run))):
        body = shown.split('<script type="module">')[0].lower()
        assert [word for word in rare if re.search(rf"\b{word}\b", body)] == []
    assert "placeholder" in report(Redacted(run))
    assert "tears" in report(run)


def test_other_modalities_are_read_as_they_are() -> None:
    run = fake_run("image", n=4)
    assert Redacted(run).examples()[0]["inputs"] == run.examples()[0]["inputs"]
