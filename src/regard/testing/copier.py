"""Hand-made chat model whose answers can be computed on paper: it copies the names that it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.training.word_tokenizer import word_tokenizer


def copier(
    names: Sequence[str],
    texts: Sequence[str],
    *,
    strength: float = 3.0,
    window: int | None = None,
    encoder: bool = False,
) -> tuple[nn.Module, Any]:
    """Return a Llama of one layer and a tokenizer of the words in `texts`; with a `window`, a Mistral.

    The logit of a name is strength x count / |counts|, where `counts` says how often every name stands in the columns
    that a row sees, and |counts| is their Euclidean length; every other token has the logit 0. One name seen alone
    therefore gets `strength`, and a second copy of it hardly more: two passages that agree can replace each other.
    window: how many columns a row sees, itself included. A name that stands farther back reaches the row only if it was
    written again in between. encoder: a T5 instead, whose decoder copies the names that its encoder reads.

    >>> module, tokenizer = copier(["Rome", "Lima"], ["Anna went to Rome.", "Bert to Lima."])
    >>> ids = torch.tensor([tokenizer("Anna went to Rome")["input_ids"]])
    >>> logits = module(ids).logits[0, -1].detach()
    >>> tokenizer.decode(int(logits.argmax())), round(float(logits.max()), 3)
    ('Rome', 3.0)
    """
    tokenizer = word_tokenizer([*texts, *names])
    vocabulary = tokenizer.get_vocab()
    if encoder:
        return _encoder_decoder([vocabulary[name] for name in names], len(vocabulary), strength), tokenizer
    return _network([vocabulary[name] for name in names], len(vocabulary), strength, window), tokenizer


def _network(names: Sequence[int], size: int, strength: float, window: int | None) -> nn.Module:
    """Build the network: one-hot embeddings, uniform attention that writes the names it sees into the upper half."""
    width = 2 * size
    family = "Llama" if window is None else "Mistral"
    extra = {} if window is None else {"sliding_window": window}
    config = _class(f"{family}Config")(
        **extra,
        vocab_size=size,
        hidden_size=width,
        intermediate_size=2,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=width,
        max_position_embeddings=512,
        rms_norm_eps=1e-12,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=2,
    )
    model = _class(f"{family}ForCausalLM")(config)
    for name, parameter in model.named_parameters():
        parameter.data.fill_(1.0 if "norm" in name else 0.0)
    layer = model.model.layers[0]
    diagonal = torch.arange(size)
    model.model.embed_tokens.weight.data[diagonal, diagonal] = 1.0
    loud = 1e6  # the row's own embedding is nothing against what attention writes
    for name in names:
        layer.self_attn.v_proj.weight.data[name, name] = 1.0
        layer.self_attn.o_proj.weight.data[size + name, name] = loud
        model.lm_head.weight.data[name, size + name] = strength / width**0.5
    module: nn.Module = model.eval()
    return module


def _encoder_decoder(names: Sequence[int], size: int, strength: float) -> nn.Module:
    """Build a T5 whose encoder repeats its one-hot embeddings, and whose cross-attention is uniform."""
    width = 2 * size
    config = _class("T5Config")(
        vocab_size=size,
        d_model=width,
        d_kv=width,
        d_ff=2,
        num_layers=1,
        num_heads=1,
        layer_norm_epsilon=1e-12,
        tie_word_embeddings=False,
        pad_token_id=0,
        decoder_start_token_id=0,
        eos_token_id=2,
    )
    model = _class("T5ForConditionalGeneration")(config)
    for name, parameter in model.named_parameters():
        parameter.data.fill_(1.0 if "norm" in name else 0.0)
    diagonal = torch.arange(size)
    model.lm_head.weight = nn.Parameter(torch.zeros(size, width))  # a weight of its own, not that of the embeddings
    for embedding in (model.shared, model.encoder.embed_tokens, model.decoder.embed_tokens):
        embedding.weight.data[diagonal, diagonal] = 1.0
    cross = model.decoder.block[0].layer[1].EncDecAttention
    for name in names:
        cross.v.weight.data[name, name] = 1.0
        cross.o.weight.data[size + name, name] = 1e6  # the row's own embedding is nothing against this
        model.lm_head.weight.data[name, size + name] = strength / width**0.5
    module: nn.Module = model.eval()
    return module


def _class(name: str) -> Any:
    import transformers  # here: the import takes seconds

    return getattr(transformers, name)
