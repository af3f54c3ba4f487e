"""Rows of an answer behind an encoder: against plain calls of transformers, one variant at a time, without a cache."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.models.ask.chat_model import ChatModel, chat_model
from regard.models.chat.answer_rows import later_rows
from regard.models.chat.attention_mass import attention_mass
from regard.models.chat.decoder_answer import decoder_answer
from regard.models.chat.decoder_rows import DecoderRows
from regard.models.open.load import load
from regard.training.word_tokenizer import word_tokenizer

SHARED: dict[str, Any] = {"vocab_size": 40, "decoder_start_token_id": 2, "pad_token_id": 1, "eos_token_id": 2}
BART: dict[str, Any] = {
    **SHARED,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
}
T5: dict[str, Any] = {**SHARED, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
MODELS = {
    "T5ForConditionalGeneration": ("T5Config", T5),
    "MT5ForConditionalGeneration": ("MT5Config", T5),
    "BartForConditionalGeneration": ("BartConfig", BART),
    "MBartForConditionalGeneration": ("MBartConfig", BART),
    "PegasusForConditionalGeneration": ("PegasusConfig", BART),
    "MarianMTModel": ("MarianConfig", BART),
    "M2M100ForConditionalGeneration": ("M2M100Config", BART),
}
PROMPT = [int(i) for i in np.random.default_rng(0).integers(3, 40, 14)]
ANSWER, BEFORE = [7, 9, 30, 11, 5], [2, 8]


@cache
def chat_of(name: str) -> ChatModel:
    import transformers

    torch.manual_seed(3)
    config, settings = MODELS[name]
    module = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval()
    for parameter in module.parameters():  # larger weights than the initial ones, so that sources matter
        parameter.data.mul_(8.0 if parameter.ndim > 1 else 1.0)
    return ChatModel(name, module, None, torch.device("cpu"), None, encoder_decoder=True)


def plain(name: str, prompt: list[int], visible: Any = None, blocked: Any = None) -> Any:
    """(tokens,) log-odds of the answer by one plain call; the encoder always reads the whole prompt."""
    module: Any = chat_of(name).module
    ids = torch.tensor([prompt])
    extra: dict[str, Any] = {}
    if blocked is not None:
        mask = torch.zeros(blocked.shape).masked_fill(torch.from_numpy(blocked), torch.finfo(torch.float32).min)
        extra["decoder_attention_mask"] = mask[None, None]
    with torch.no_grad():
        encoded = module.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))
        logits = module(
            encoder_outputs=encoded,
            attention_mask=torch.ones_like(ids)
            if visible is None
            else torch.from_numpy(visible[None].astype(np.int64)),
            decoder_input_ids=torch.tensor([[*BEFORE, *ANSWER[:-1]]]),
            use_cache=False,
            **extra,
        ).logits[0, -len(ANSWER) :]
    p = torch.softmax(logits.double(), -1)[range(len(ANSWER)), ANSWER]
    return torch.log(p / (1 - p)).numpy()


@pytest.mark.parametrize("name", MODELS)
def test_hiding_equals_a_masked_call_and_deleting_equals_another_prompt(name: str) -> None:
    rows = DecoderRows(chat_of(name), PROMPT, ANSWER, BEFORE)
    assert rows.base == pytest.approx(plain(name, PROMPT), abs=1e-4)
    hidden = np.zeros((3, len(PROMPT)), bool)
    hidden[0, 2:6] = hidden[1, 6:11] = hidden[2, 13] = True
    expected = np.stack([plain(name, PROMPT, ~row) for row in hidden])
    assert rows.knocked_out(hidden) == pytest.approx(expected, abs=1e-4)
    assert np.abs(expected - rows.base).max() > 1e-2  # the comparison above could fail
    shorter = PROMPT[:2] + PROMPT[6:]
    before = rows.passes
    price = rows.cost(shorter)
    assert rows.deleted(shorter) == pytest.approx(plain(name, shorter), abs=1e-4)
    assert rows.passes - before == pytest.approx(price)
    assert rows.deleted(PROMPT, [0, 1]) == pytest.approx(rows.base[:2], abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_forgetting_tokens_equals_a_call_with_a_mask_of_the_decoder(name: str) -> None:
    rows = DecoderRows(chat_of(name), PROMPT, ANSWER, BEFORE)
    earlier = np.array([[False, True, False, False, False]])
    nothing = np.zeros((1, len(PROMPT)), bool)
    count = len(BEFORE) + len(ANSWER) - 1
    blocked = np.triu(np.ones((count, count), bool), 1)
    blocked[4:, 3] = True  # input 3 is answer token 1; inputs 4 and 5 are the rows after it
    assert (blocked[1:, 1:] == (np.triu(np.ones((5, 5), bool), 1) | later_rows(earlier)[0])).all()
    forgotten = rows.knocked_out(nothing, earlier)[0]
    assert forgotten == pytest.approx(plain(name, PROMPT, blocked=blocked), abs=1e-4)
    assert np.abs(forgotten - rows.base)[:3].max() < 1e-4 < np.abs(forgotten - rows.base)[3:].max()


@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_attention_mass_is_the_mean_of_cross_attention(name: str) -> None:
    rows = DecoderRows(chat_of(name), PROMPT, ANSWER, BEFORE)
    module: Any = chat_of(name).module
    module.set_attn_implementation("eager")
    with torch.no_grad():
        out = module(
            input_ids=torch.tensor([PROMPT]),
            decoder_input_ids=torch.tensor([[*BEFORE, *ANSWER[:-1]]]),
            output_attentions=True,
        )
    module.set_attn_implementation("sdpa" if "Bart" in name else "eager")
    expected = torch.stack(out.cross_attentions).mean((0, 1, 2))[-len(ANSWER) :].numpy()
    assert attention_mass(rows) == pytest.approx(expected, abs=1e-5)


@cache
def translator() -> ChatModel:
    import transformers

    tokenizer = word_tokenizer(["Anna lives in Rome . summarize :"])
    torch.manual_seed(0)
    config = transformers.T5Config(**{**T5, "vocab_size": len(tokenizer), "pad_token_id": 0})
    model = load(transformers.T5ForConditionalGeneration(config), processor=tokenizer, device="cpu")
    return chat_model(model)


def test_answer_of_a_decoder_has_its_start_and_prefix_before_it() -> None:
    chat, tokenizer = translator(), translator().tokenizer
    ids = tokenizer("summarize : Anna lives in Rome .")["input_ids"]
    written = decoder_answer(chat, ids, "lives in Rome", prefix="Anna ", new_tokens=4)
    assert written.before == (2, *tokenizer("Anna")["input_ids"])
    assert written.ids == tuple(tokenizer("lives in Rome")["input_ids"])
    assert [written.text[a:b] for a, b in written.offsets] == ["lives", "in", "Rome"]
    by_ids = decoder_answer(chat, ids, list(written.ids), prefix="Anna ", new_tokens=4)
    assert (by_ids.ids, by_ids.before) == (written.ids, written.before)
    assert decoder_answer(chat, ids, [*written.ids, 2], prefix="", new_tokens=4).before == (2,)
    with pytest.raises(InputError, match="empty"):
        decoder_answer(chat, ids, " ", prefix="", new_tokens=4)
