"""The retrieval score on rows known by hand, and the knock-out of the heads that have it."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_heads import induction_head

from regard.head_scores._view import View
from regard.head_scores.retrieval import retrieval
from regard.models.ask.repeated_tokens import copied_tokens, repeated_tokens
from regard.records import Floats, Site
from regard.surveys.heads.findings import HeadSurvey
from regard.surveys.heads.survey import heads

TOKENS = np.array([5, 6, 7, 5, 6, 7])
"""The rows 2, 3 and 4 predict the second 5, 6 and 7, which stand at 0, 1 and 2."""


def seen(weights: Floats, *, rows: range = range(6), special: tuple[int, ...] = ()) -> View:
    n = len(TOKENS)
    return View(
        site=Site("attention", 0, "causal", 0, len(weights)),
        weights=weights[:, list(rows)],
        rows=np.array(rows),
        allowed=np.tri(n, dtype=np.bool_)[list(rows)],
        same_axis=True,
        query_tokens=TOKENS[list(rows)],
        key_tokens=TOKENS,
        special=np.isin(np.arange(n), special),
        count=np.ones(n, np.int64),
    )


def copying() -> Floats:
    """One head that looks at the token to be copied with a bare majority, one that looks at the first position."""
    weights = np.zeros((2, 6, 6))
    for row, source in ((2, 0), (3, 1), (4, 2)):
        weights[0, row, source] = 0.4
        weights[0, row, [k for k in range(row + 1) if k != source]] = 0.6 / row
    weights[1, :, 0] = 1.0
    return weights


def test_a_copying_head_has_one_a_sink_only_what_stands_there() -> None:
    tally = retrieval(seen(copying()))
    assert tally.defined.tolist() == [False, False, True, True, True, False]
    assert tally.value[:, 2:5].tolist() == [[1, 1, 1], [1, 0, 0]]
    np.testing.assert_allclose(tally.null[0, 2:5], [1 / 3, 1 / 4, 1 / 5])


def test_uniform_attention_has_exactly_its_baseline() -> None:
    uniform = np.tri(6)[None] / np.arange(1, 7)[None, :, None]
    tally = retrieval(seen(uniform))
    np.testing.assert_allclose(tally.value[0, 2:5], tally.null[0, 2:5])


def test_rows_in_chunks_give_the_same_and_special_tokens_are_no_copies() -> None:
    whole, part = retrieval(seen(copying())), retrieval(seen(copying(), rows=range(3, 5)))
    assert part.value.tolist() == whole.value[:, 3:5].tolist()
    assert retrieval(seen(copying(), special=(0,))).defined.tolist() == [False, False, False, True, True, False]


def test_sequences_break_off_where_a_token_is_due() -> None:
    model = induction_head()
    template = model.encode(model.windows(_example())[0])
    for item, target in copied_tokens(model, template, n=8, seed=3):
        ids = item.arrays["input_ids"].tolist()  # type: ignore[attr-defined]
        period = len(set(ids))
        assert ids[period:] == ids[: len(ids) - period]
        assert target == ids[len(ids) - period]


@pytest.fixture(scope="module")
def survey() -> HeadSurvey:
    texts = [" ".join(f"w{i}" for i in [*range(2 + k, 12 + k), *range(2 + k, 8 + k)]) for k in range(6)]
    return heads(induction_head(), texts, ablate=2)


def test_the_induction_head_copies_and_without_it_nothing_is_copied(survey: HeadSurvey) -> None:
    score = survey.score("stack1.L0H0", "retrieval")
    assert score is not None
    # of p copies the first cannot be foreseen (p equal weights), and the second has two equal sources, because place 0
    # is its own predecessor
    model = induction_head()
    template = model.encode(model.windows(_example())[0])
    periods = [len(set(item.units.names)) for item in repeated_tokens(model, template, n=32, seed=0)]
    assert score.estimate == pytest.approx(np.mean([(p - 2 + 0.5 + 1 / p) / p for p in periods]))
    assert score.baseline < 0.1
    idle = survey.score("stack1.L0H1", "retrieval")
    assert idle is not None
    assert idle.estimate == pytest.approx(idle.baseline, abs=1e-6)  # its weights are equal
    check = survey.retrieval
    assert check is not None
    assert check.heads == ("stack1.L0H0",)
    assert check.drop_top.estimate > 9
    assert check.confirmed
    assert check.whole.n == 32


def _example():  # type: ignore[no-untyped-def]
    from regard.records import Example

    return Example("a", {"text": "w2 w3 w4 w5"})
