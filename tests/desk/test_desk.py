from __future__ import annotations

import numpy as np
import pytest
from torch_toy import TorchToy, examples, sentences

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import answers_to, edited, slopes_at
from regard.errors import InputError
from regard.protocols import Point
from regard.records import Edit, Relevance, Spec

TEXTS = sentences(9)


def _case(model: TorchToy | None = None, *, batch: int = 16, tokens: int = 8192) -> tuple[TorchToy, DeskCase]:
    toy = model or TorchToy()
    return toy, DeskCase(Desk(toy, batch=batch, tokens=tokens), examples(TEXTS))


def _all_drops(case: DeskCase) -> list[np.ndarray]:
    return [np.eye(len(u), dtype=bool)[u.free] for u in case.units]


def test_answers_are_those_of_the_model_one_by_one() -> None:
    _, case = _case()
    base, removed = case.base(), case.removed(_all_drops(case))
    plain = TorchToy()
    for i, example in enumerate(case.examples):
        encoded = plain.encode(example)
        alone, (target,) = plain.predict([encoded])
        assert case.targets[i] == target
        assert base.value[i] == pytest.approx(alone.value[0], abs=1e-6)
        rows = removed.value[removed.rows(i)]
        for j, drop in enumerate(_all_drops(case)[i]):
            one = plain.remove(encoded, drop, "delete", np.random.default_rng(0))
            assert rows[j] == pytest.approx(plain.forward([one], [target]).value[0], abs=1e-6)
        assert removed.distribution is not None
        np.testing.assert_allclose(removed.distribution.sum(1), 1)


def test_a_repeated_question_is_answered_from_memory() -> None:
    toy, case = _case()
    first = case.removed(_all_drops(case))
    slopes_at(case, [Point(0.5), Point(1.0)])
    for i in range(len(case.ids)):
        case.attention(i)
    calls = dict(toy.calls)
    again = case.removed(_all_drops(case), "delete")
    case.base()
    slopes_at(case, [Point(1.0)])
    case.attention(3)
    assert dict(toy.calls) == calls
    np.testing.assert_array_equal(first.value, again.value)
    n = sum(int(u.free.sum()) for u in case.units)
    assert calls == {"predict": len(TEXTS), "forward": n, "slopes": len(TEXTS), "capture": len(TEXTS)}


def test_part_of_a_question_is_answered_from_memory() -> None:
    toy, case = _case()
    case.removed([d[:1] for d in _all_drops(case)])
    case.removed(_all_drops(case))
    assert toy.calls["forward"] == sum(int(u.free.sum()) for u in case.units)
    case.removed([np.concatenate([d[:1], d[:1]]) for d in _all_drops(case)], "mask")
    assert toy.calls["forward"] == sum(int(u.free.sum()) for u in case.units) + len(TEXTS)


def test_removing_nothing_is_the_base_forward_and_specials_stay() -> None:
    toy, case = _case()
    nothing = [np.zeros((2, len(u)), bool) for u in case.units]
    only_special = [np.array([u.special]) for u in case.units]
    answers = case.removed(nothing, "mask")
    np.testing.assert_array_equal(answers.value[::2], case.base().value)
    np.testing.assert_array_equal(case.removed(only_special, "mask").value, case.base().value)
    assert toy.calls["forward"] == 0


def test_batches_are_of_like_length_and_within_bounds() -> None:
    toy, case = _case(batch=4, tokens=30)
    case.removed(_all_drops(case))
    assert max(toy.batches) <= 4
    longest = max(len(u) for u in case.units)
    assert all(size * 2 <= 30 or size == 1 for size in toy.batches)
    assert longest * 4 > 30  # so the second bound had something to do


@pytest.mark.parametrize("memory", [1, 3, 7])
def test_too_little_memory_halves_the_batch_and_goes_on(memory: int) -> None:
    _, roomy = _case()
    toy, case = _case(TorchToy(memory=memory))
    np.testing.assert_allclose(case.removed(_all_drops(case)).value, roomy.removed(_all_drops(roomy)).value, atol=1e-6)
    for mine, theirs in zip(slopes_at(case, [Point(0.5)]), slopes_at(roomy, [Point(0.5)]), strict=True):
        np.testing.assert_allclose(mine.dot, theirs.dot, atol=1e-6)
    assert max(toy.batches) <= memory


def test_an_error_that_is_not_about_memory_is_not_hidden() -> None:
    _, case = _case(TorchToy(raises_on="film"))
    with pytest.raises(ValueError, match="cannot stand"):
        case.base()


def test_edits_go_through_the_model_once_per_kind() -> None:
    toy, case = _case()
    same = [[[Edit("uniform")]] for _ in case.ids]
    edited(case, same)
    assert toy.calls["edited"] == len(TEXTS)
    batches = len(toy.batches)
    edited(case, same)
    assert len(toy.batches) == batches
    edited(case, [[[Edit("permute", seed=1)]] for _ in case.ids])
    assert toy.batches[batches:] == [1] * len(TEXTS)


@pytest.mark.parametrize("wrong", ["blur", "Delete"])
def test_an_unknown_operator_is_refused(wrong: str) -> None:
    _, case = _case()
    with pytest.raises(InputError, match="delete, mask"):
        case.removed(_all_drops(case), wrong)


def test_drops_of_the_wrong_shape_are_refused() -> None:
    _, case = _case()
    with pytest.raises(InputError, match="variants"):
        case.removed([np.zeros((1, 2), bool)] * len(case.ids))


def test_a_relevance_is_computed_once_and_under_the_audits_own_spec() -> None:
    toy = TorchToy()
    own = Spec("explainer", "integrated_gradients", {"steps": 3})
    case = DeskCase(Desk(toy), examples(TEXTS), {"integrated_gradients": own})
    by_name = case.relevance("integrated_gradients")
    assert by_name is case.relevance(own)
    assert by_name.method == "integrated_gradients"
    other = case.relevance(Spec("explainer", "integrated_gradients", {"steps": 4}))
    assert other.method == "integrated_gradients:steps=4"
    part = case.subset([4, 1])
    calls = dict(toy.calls)
    np.testing.assert_array_equal(part.relevance("integrated_gradients")[0], by_name[4])
    assert part.relevance("integrated_gradients").ids == ("t4", "t1")
    assert dict(toy.calls) == calls


def test_costs_are_paid_by_who_asks_first_and_sum_up() -> None:
    _, case = _case()
    case.relevance("leave_one_out")
    case.relevance("input_x_gradient")
    costs = {c.method: c for c in case.desk.costs()}
    free = sum(int(u.free.sum()) for u in case.units)
    assert (costs["base"].forwards, costs["leave_one_out"].forwards) == (len(TEXTS), free)
    assert (costs["input_x_gradient"].forwards, costs["input_x_gradient"].backwards) == (len(TEXTS), len(TEXTS))
    assert all(c.seconds >= 0 for c in costs.values())


def test_random_numbers_belong_to_example_and_key() -> None:
    _, case = _case()
    part = case.subset([5])
    assert part.rng(0, "x").random() == case.rng(5, "x").random()
    assert case.rng(5, "x").random() != case.rng(5, "y").random()
    assert case.rng(5, "x").random() != case.rng(4, "x").random()


def test_what_is_no_relevance_of_these_units_is_refused() -> None:
    from regard.desk.case import checked

    _, case = _case()
    good = [np.zeros(len(u)) for u in case.units]
    cases = {
        "values for": Relevance.of("m", case.ids, [g[:-1] for g in good]),
        "t1": Relevance.of("m", case.ids[1:], good[1:]),
        "NaN": Relevance.of("m", case.ids, [g * np.nan for g in good]),
    }
    for words, wrong in cases.items():
        with pytest.raises(InputError, match=words):
            checked(wrong, case, "m")


def test_a_text_that_was_asked_about_is_remembered_for_its_own_example_only() -> None:
    toy, case = _case()
    desk = Desk(toy)
    whole = DeskCase(desk, case.examples)
    whole.base()
    first, second, third = (examples([text])[0] for text in ("a dull film", "a fine film", ""))
    before = sum(c.forwards for c in desk.costs())
    said = answers_to(whole.subset([0]), [[first, second, first, third]])
    assert sum(c.forwards for c in desk.costs()) == before + 2
    again = answers_to(whole.subset([0, 1]), [[second], [second]])
    assert sum(c.forwards for c in desk.costs()) == before + 3, "another example may have another target"
    np.testing.assert_array_equal(said.value[[0, 1]], [said.value[2], again.value[0]])
    assert np.isnan(said.value[3])
    plain = [TorchToy().forward([TorchToy().encode(e)], [case.targets[0]]).value[0] for e in (first, second)]
    np.testing.assert_allclose(said.value[:2], plain, atol=1e-6)
