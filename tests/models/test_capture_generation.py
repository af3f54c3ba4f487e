"""Attention while a model writes: the same numbers as one pass over everything that was written."""

from __future__ import annotations

import adapter_zoo as zoo
import numpy as np
import pytest

from regard.errors import InputError, Unsupported
from regard.models.capture import capture
from regard.models.capture_generation import capture_generation
from regard.models.open.load import load


def test_a_decoder_writes_as_it_would_read() -> None:
    model = load(zoo.gpt2(), processor=zoo.plain_tokenizer(), device="cpu")
    written = capture_generation(model, "the film was", new_tokens=4)
    assert 1 <= len(written.made) <= 4
    read = " ".join(written.units[0].names)
    whole = capture(model, read)
    assert len(whole.units[0]) == len(written.units[0]) == 3 + len(written.made) - 1
    for one, other in zip(written.sites, whole.sites, strict=True):
        assert one.site.kind == "causal"
        assert np.allclose(one.dense().weights, other.dense().weights, atol=1e-5)


def test_an_encoder_decoder_shows_self_and_cross() -> None:
    model = load(zoo.t5(), processor=zoo.t5_tokenizer(), device="cpu")
    written = capture_generation(model, "the film was great", new_tokens=3)
    assert {s.site.kind for s in written.sites} == {"self", "causal", "cross"}
    for site in written.sites:
        _, _, queries, keys = site.shape
        if site.site.kind == "cross":
            assert (queries, keys) == (len(written.made), len(written.units[0]))
        assert np.allclose(site.dense().weights.sum(-1), 1, atol=1e-5)


def test_who_cannot_write_says_so() -> None:
    classifier = load(zoo.bert("ForSequenceClassification"), processor=zoo.bert_tokenizer(), device="cpu")
    with pytest.raises(Unsupported, match="generate"):
        capture_generation(classifier, "the film")
    with pytest.raises(InputError, match="at least 1"):
        capture_generation(classifier, "the film", new_tokens=0)
