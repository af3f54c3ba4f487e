"""Known answers: heads set by hand get exactly their roles, random and uniform ones get none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hand_built_heads import induction_head, two_heads

from regard.message import Message
from regard.present.messages.messages import rendered
from regard.registry import names
from regard.surveys.heads.findings import HeadSurvey
from regard.surveys.heads.survey import heads, scores


def written(words: list[int]) -> str:
    return " ".join(f"w{i}" for i in words)


def different(n: int) -> list[str]:
    """Texts of 8 to 19 words, none of them twice."""
    rng = np.random.default_rng(n)
    return [written(rng.permutation(np.arange(2, 40))[: rng.integers(8, 20)].tolist()) for _ in range(n)]


def repeating(n: int) -> list[str]:
    """Texts that begin anew in the middle."""
    texts, rng = [], np.random.default_rng(n)
    for _ in range(n):
        words = rng.permutation(np.arange(2, 40))[: rng.integers(8, 20)].tolist()
        texts.append(written(words + words[: rng.integers(3, len(words))]))
    return texts


@pytest.fixture(scope="module")
def pair() -> HeadSurvey:
    return heads(two_heads(), different(20), ablate=8)


@pytest.fixture(scope="module")
def inducing() -> HeadSurvey:
    return heads(induction_head(), repeating(20), ablate=8)


def test_two_heads_built_by_hand_get_exactly_their_roles(pair: HeadSurvey) -> None:
    for head, role in (("L0H0", "previous token"), ("L0H1", "same token")):
        found = pair.role(head)
        assert found.name == role
        assert found.others == ()
        assert found.confidence == 1.0
        assert found.score is not None
        assert found.score.estimate == pytest.approx(1.0)
        assert found.score.baseline == pytest.approx(1 / 13.5, abs=0.03)  # one of 8 to 19 keys
        assert found.score.baseline_is == Message("heads.baseline.shuffled")
        assert found.score.p < 1e-6
        assert (found.score.n, found.score.clusters) == (20, 20)


def test_the_numbers_of_a_head_that_looks_one_back(pair: HeadSurvey) -> None:
    for name, value in (("entropy", 0.0), ("breadth", 0.0), ("next_token", 0.0), ("positional:offset=-2", 0.0)):
        found = pair.score("0.0", name)
        assert found is not None
        assert found.estimate == pytest.approx(value, abs=1e-6), name
    away = pair.score("0.0", "distance")
    assert away is not None
    # every query but the first looks 1 away; the first looks at itself
    assert 12 / 13.5 - 0.1 < away.estimate < 1.0
    assert [row.spread for row in pair.heads] == ["focused", "focused"]


def test_an_induction_head_is_found_on_repeated_random_tokens(inducing: HeadSurvey) -> None:
    finder, copier = inducing.role("stack1.L0H0"), inducing.role("stack0.L0H0")
    assert (finder.name, copier.name) == ("induction", "previous token")
    assert finder.confidence > 0.99
    assert finder.score is not None
    assert finder.score.on == Message("heads.on.repeated_tokens")
    assert finder.score.estimate > 0.9
    assert 0.05 < finder.score.baseline < 0.4
    assert isinstance(finder.score.baseline_is, Message)
    assert finder.score.baseline_is.params["place"]["message"] == "heads.place.offset"
    for idle in ("stack0.L0H1", "stack1.L0H1"):
        assert inducing.role(idle).name == ""
        assert np.isnan(inducing.role(idle).confidence)


def test_switching_the_induction_head_off_costs_everything_idle_heads_nothing(inducing: HeadSurvey) -> None:
    drop = {row.name: row.drop for row in inducing.heads}
    for head in ("stack0.L0H0", "stack1.L0H0"):
        assert drop[head] is not None
        assert drop[head].estimate > 9  # type: ignore[union-attr]
        assert drop[head].low > 9  # type: ignore[union-attr]
    for idle in ("stack0.L0H1", "stack1.L0H1"):
        assert drop[idle].estimate == pytest.approx(0.0, abs=1e-6)  # type: ignore[union-attr]
    # the copier is saturated: no slope, and yet nothing works without it
    slopes = {row.name: row.slope for row in inducing.heads}
    assert slopes["stack0.L0H0"].estimate < 1e-3 < slopes["stack1.L0H0"].estimate  # type: ignore[union-attr]


def test_the_curve_starts_whole_and_ends_with_nothing(inducing: HeadSurvey) -> None:
    points = {(p.order, p.removed): p for p in inducing.curve if p.measure == "objective"}
    ranked = [
        points["least important first", n].estimate for n in (0, 1, 2, 4) if ("least important first", n) in points
    ]
    assert ranked[0] == pytest.approx(ranked[1], abs=1e-4)  # an idle head went first
    assert ranked[-1] < ranked[0] - 9
    assert all(p.low <= p.estimate <= p.high and p.n == 8 for p in points.values())


def test_uniform_heads_have_no_role_and_are_warned_of() -> None:
    found = heads(two_heads(sharp=0.0), different(12), ablate=0)
    assert [row.role.name for row in found.heads] == ["", ""]
    assert all(row.spread == "broad" for row in found.heads)
    assert any("2 of 2 heads are uniform" in warning for warning in rendered(found.health.warnings))
    assert found.groups[0].heads == ("L0H0", "L0H1")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_random_models_have_no_roles(seed: int, scale: float) -> None:
    from regard.models.open.wrap import wrap

    class Random(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(seed)
            self.embed, self.place = torch.nn.Embedding(40, 32), torch.nn.Embedding(32, 32)
            self.layers = torch.nn.ModuleList(torch.nn.MultiheadAttention(32, 4, batch_first=True) for _ in range(2))
            for layer in self.layers:
                layer.in_proj_weight.data *= scale
            self.out = torch.nn.Linear(32, 2)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            x = self.embed(ids) + self.place(torch.arange(ids.shape[1]))
            for layer in self.layers:
                x = x + layer(x, x, x, key_padding_mask=~mask, need_weights=False)[0]
            logits: torch.Tensor = self.out(x.mean(1))
            return logits

    from hand_built_heads import encode

    with torch.random.fork_rng(devices=[]):
        model = wrap(Random(), encode, labels=["a", "b"], mask="mask", mask_id=1)
    found = heads(model, different(24), ablate=0)
    assert [row.role.name for row in found.heads] == [""] * 8


def test_the_survey_is_tidy_and_repeatable(pair: HeadSurvey) -> None:
    rows = pair.records()
    assert len({(row["head"], row["score"]) for row in rows}) == len(rows)
    assert {row["score"] for row in rows} <= {str(spec) for spec in scores()}
    assert {spec.name for spec in scores()} == set(names("head"))
    texts = different(6)
    first, again = (heads(two_heads(), texts, ablate=2) for _ in range(2))
    assert str(first) == str(again)


def test_a_corpus_of_one_text_has_scores_but_no_roles() -> None:
    found = heads(two_heads(), different(1), ablate=1)
    assert all(np.isnan(score.low) for score in found.scores)
    assert [row.role.name for row in found.heads] == ["", ""]
    assert any("one independent example" in note for note in rendered(found.notes))
