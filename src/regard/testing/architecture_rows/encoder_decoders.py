"""Encoder and decoder: self-attention below, causal and cross-attention above."""

from __future__ import annotations

import torch

from regard.records import SiteKind
from regard.testing.architecture import Architecture, Inputs
from regard.testing.architecture_inputs import RESNET, noise, text_to_text, token_ids

_FAMILY = "encoder and decoder"
_OWN = (
    ("encoder_attentions", "encoder.*"),
    ("decoder_attentions", "decoder.*self_attn*"),
    ("cross_attentions", "decoder.*encoder_attn*"),
)
_T5_OWN = (
    ("encoder_attentions", "encoder.*"),
    ("decoder_attentions", "decoder.*layer.0.*"),
    ("cross_attentions", "decoder.*layer.1.*"),
)
_THREE: dict[SiteKind, int] = {"self": 2, "causal": 2, "cross": 2}
_WORDS = "2 encoder layers (self), 2 decoder layers (causal and cross)"
_SIZE = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_T5 = {
    "vocab_size": 99,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 40,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "decoder_start_token_id": 0,
}


def _speech() -> Inputs:
    return {"input_features": noise(2, 8, 60), "decoder_input_ids": token_ids(2, 7)}


def _picture() -> Inputs:
    """The second picture is narrower: its right edge is padding."""
    mask = torch.ones(2, 64, 64, dtype=torch.long)
    mask[1, :, 40:] = 0
    return {"pixel_values": noise(2, 3, 64, 64), "pixel_mask": mask}


# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture("T5", _FAMILY, "T5Model", "T5Config", _T5, text_to_text, _THREE, _WORDS, own=_T5_OWN),
    Architecture("mT5", _FAMILY, "MT5Model", "MT5Config", _T5, text_to_text, _THREE, _WORDS, own=_T5_OWN),
    Architecture("BART", _FAMILY, "BartModel", "BartConfig", _SIZE, text_to_text, _THREE, _WORDS, own=_OWN),
    Architecture("mBART", _FAMILY, "MBartModel", "MBartConfig", _SIZE, text_to_text, _THREE, _WORDS, own=_OWN),
    Architecture("Marian", _FAMILY, "MarianModel", "MarianConfig", _SIZE, text_to_text, _THREE, _WORDS, own=_OWN),
    Architecture("Pegasus", _FAMILY, "PegasusModel", "PegasusConfig", _SIZE, text_to_text, _THREE, _WORDS, own=_OWN),
    Architecture("M2M-100", _FAMILY, "M2M100Model", "M2M100Config", _SIZE, text_to_text, _THREE, _WORDS, own=_OWN),
    Architecture(
        "LED", _FAMILY, "LEDModel", "LEDConfig",
        {k: v for k, v in _SIZE.items() if k != "max_position_embeddings"} | {"attention_window": [4, 4],
         "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}, text_to_text,
        {"windowed": 2, "causal": 2, "cross": 2},
        "2 encoder layers (window of 2 on each side), 2 decoder layers (causal and cross)", own=_OWN[1:],
        silent="the encoder reports bands (offset from the query), not (query, key)",
    ),
    Architecture(
        "Whisper", _FAMILY, "WhisperModel", "WhisperConfig",
        {**{k: v for k, v in _SIZE.items() if k != "max_position_embeddings"}, "num_mel_bins": 8,
         "max_source_positions": 30, "max_target_positions": 16, "suppress_tokens": None,
         "begin_suppress_tokens": None}, _speech, _THREE, _WORDS, own=_OWN,
    ),
    Architecture(
        "DETR", _FAMILY, "DetrModel", "DetrConfig",
        {**{k: v for k, v in _SIZE.items() if "token" not in k and k not in ("vocab_size",
         "max_position_embeddings")}, "num_queries": 5, "backbone_config": RESNET}, _picture, {"self": 4, "cross": 2},
        "2 encoder layers (self), 2 decoder layers (self among 5 object queries, cross)", own=_OWN,
        note="built on transformers' own ResNet, without timm and torchvision; the first self-attention of the "
        "decoder cannot matter, as the object queries start at zero and all its values are equal",
        inert=("decoder.layers.0.self_attn",),
    ),
    Architecture(
        "ProphetNet", _FAMILY, "ProphetNetModel", "ProphetNetConfig",
        {"vocab_size": 99, "hidden_size": 32, "encoder_ffn_dim": 40, "num_encoder_layers": 2,
         "num_encoder_attention_heads": 4, "decoder_ffn_dim": 40, "num_decoder_layers": 2,
         "num_decoder_attention_heads": 4, "ngram": 2, "num_buckets": 8, "relative_max_distance": 16,
         "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}, text_to_text,
        {"self": 2, "causal": 4, "cross": 2},
        "2 encoder layers (self), 2 decoder layers (causal in the main and in the 2 predicting streams, cross)",
        own=(("decoder_attentions", "decoder.*self_attn"),),
        silent="encoder and cross-attention are reported as scores before the softmax, the predicting streams in "
        "another layout",
        note="the batch axis of the predicting streams is example x stream",
    ),
    Architecture(
        "LongT5 (local)", _FAMILY, "LongT5Model", "LongT5Config",
        {**_T5, "local_radius": 3, "encoder_attention_type": "local"}, text_to_text,
        {"windowed": 2, "causal": 2, "cross": 2},
        "2 encoder layers (a token sees 3 on each side), 2 decoder layers (causal and cross)",
        own=_T5_OWN[1:], silent="the encoder reports blocks, not (query, key)",
    ),
    Architecture(
        "LongT5 (transient global)", _FAMILY, "LongT5Model", "LongT5Config",
        {**_T5, "local_radius": 3, "global_block_size": 4, "encoder_attention_type": "transient-global"}, text_to_text,
        {"windowed": 2, "causal": 2, "cross": 2},
        "2 encoder layers (3 on each side, and a summary of every 4 tokens), 2 decoder layers (causal and cross)",
        own=_T5_OWN[1:], silent="the encoder reports blocks, not (query, key)",
        note="kept in the blocks in which it is computed (the batch axis of the encoder is example x block): some of "
        "its keys are summaries, not positions",
    ),
    Architecture(
        "SwitchTransformers", _FAMILY, "SwitchTransformersModel", "SwitchTransformersConfig",
        {**_T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}, text_to_text,
        _THREE, _WORDS + "; the softmaxes of the expert routers are not attention", own=_T5_OWN, rejected=2,
    ),
)
# fmt: on
