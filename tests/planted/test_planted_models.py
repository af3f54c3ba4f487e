"""Each planted model answers right, and has exactly the defect that its file says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from regard.audits.preconditions import preconditions
from regard.datasets.builtin.planted import planted
from regard.errors import UnknownName
from regard.models.adapter import TorchModel
from regard.models.capture import capture
from regard.models.open.load import load, rebuild
from regard.registry import entry, named_model, names

# the first ones; later files of the room are tried by the same bodies
FIRST = ("constant", "one_key", "uniform", "unused")
DEFECTIVE = [name for name in names("planted") if "defect" in entry("planted", name).facts]


@cache
def opened(name: str) -> TorchModel:
    model = load(f"planted:{name}")
    assert isinstance(model, TorchModel)
    return model


def test_the_first_four_are_there_and_say_what_is_true_of_them() -> None:
    assert set(FIRST) <= set(names("planted"))
    for name in FIRST:
        facts = entry("planted", name).facts
        assert facts["defect"] == name
        assert facts["truth"]
        assert facts["data"] in names("dataset")


@pytest.mark.parametrize("name", DEFECTIVE)
def test_exactly_its_defect(name: str) -> None:
    facts = entry("planted", name).facts
    found = preconditions(opened(name), planted(n=20))
    assert [d.what for d in found.defects] == [d for d in [facts["defect"]] if d]
    assert found.n == 8
    assert found.notes == ()


def test_the_sentence_of_the_trap() -> None:
    (defect,) = preconditions(opened("one_key"), planted(n=5)).defects
    sentence = defect.sentence
    assert sentence.params["defect"] == {"message": "defect.one_key"}
    assert sentence.params["n"] == {"message": "count.example.many", "params": {"n": 5}}


@pytest.mark.parametrize("name", FIRST)
def test_it_answers_right_whatever_is_wrong_with_its_attention(name: str) -> None:
    model, data = opened(name), planted(n=60)
    answers, _ = model.predict([model.encode(e) for e in data])
    assert answers.distribution is not None
    np.testing.assert_array_equal(answers.distribution.argmax(1), [e.label for e in data])


@pytest.mark.parametrize("name", FIRST)
def test_no_answer_depends_on_the_padding_of_its_batch(name: str) -> None:
    model = opened(name)
    texts = ["superb", "the door was awful in the garden", "a glorious boat"]
    batch = [model.encode(e) for e in capture_examples(texts)]
    together, targets = model.predict(batch)
    alone = [model.forward([one], [target]).value[0] for one, target in zip(batch, targets, strict=True)]
    np.testing.assert_allclose(together.value, alone, atol=1e-6)


def capture_examples(texts: list[str]) -> list[object]:
    from regard.models.capture import as_examples

    return list(as_examples(opened("one_key"), texts))


def test_states_are_what_the_construction_says() -> None:
    """The closed form of planted/_text.py, word by word."""
    module = opened("one_key").module
    item = opened("one_key").encode(capture_examples(["the superb boat was awful and superb"])[0])  # type: ignore[arg-type]
    with torch.no_grad():
        vectors = module.embedding(torch.from_numpy(item.arrays["input_ids"])[None])  # type: ignore[operator]
        states, _ = module.encoder(vectors)  # type: ignore[operator]
    evidence, loudness = vectors[0].T
    ahead = torch.tanh(torch.cumsum(torch.tanh(evidence), 0))
    back = torch.tanh(torch.cumsum(torch.tanh(evidence).flip(0), 0).flip(0))
    held = torch.tanh(torch.tanh(loudness))
    torch.testing.assert_close(states[0], torch.stack([ahead, held, back, held], -1), atol=1e-6, rtol=0)


def test_the_context_of_one_key_is_the_hidden_state() -> None:
    module = opened("one_key").module
    seen: list[torch.Tensor] = []
    handle = module.attention.register_forward_hook(lambda m, a, out: seen.extend([a[0], out]))  # type: ignore[union-attr]
    weights = capture(opened("one_key"), "the door was awful").sites[0].dense().weights
    handle.remove()
    np.testing.assert_array_equal(weights, np.ones((1, 1, 1, 1)))
    states, context = seen[-2:]
    torch.testing.assert_close(context[0], torch.cat([states[0, -1, :2], states[0, 0, 2:]]), atol=0, rtol=0)


def test_weights_of_the_others_by_construction() -> None:
    texts = ["the door was awful", "a superb boat stood"]
    for name, row in (("uniform", np.full(4, 0.25)), ("constant", np.exp(np.cos(2.0 * np.arange(4))))):
        weights = capture(opened(name), texts).sites[0].dense().weights[:, 0, 0]
        np.testing.assert_allclose(weights, np.tile(row / row.sum(), (2, 1)), atol=1e-6)
    one, other = capture(opened("unused"), texts).sites[0].dense().weights[:, 0, 0]
    assert np.abs(one - other).max() > 0.05


def test_found_by_name_and_rebuilt_elsewhere() -> None:
    model = opened("uniform")
    assert model.name == "planted:uniform"
    assert model.spec is not None
    assert rebuild(model.spec).fingerprint == model.fingerprint
    assert named_model("planted:uniform") is not None
    assert named_model("./planted") is None
    with pytest.raises(UnknownName, match="one_key"):
        load("planted:onekey")
    with pytest.raises(UnknownName, match="seed"):
        load("planted:one_key:seed=1")
    assert load("planted:one_key", labels=["no", "yes"]).labels == ("no", "yes")
