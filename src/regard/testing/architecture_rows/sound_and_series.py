"""Sound and time series."""

from __future__ import annotations

import torch

from regard.testing.architecture import Architecture, Inputs
from regard.testing.architecture_inputs import noise

_ONE_PER_LAYER = "2 layers, one self-attention each"
_OWN = (
    ("encoder_attentions", "encoder.*"),
    ("decoder_attentions", "decoder.*self_attn*"),
    ("cross_attentions", "decoder.*encoder_attn*"),
)
_WAVE = {
    "vocab_size": 32,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "conv_dim": [16, 16],
    "conv_kernel": [8, 4],
    "conv_stride": [8, 4],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "do_stable_layer_norm": False,
}
_CHANNELS = {
    "num_input_channels": 2,
    "context_length": 32,
    "patch_length": 8,
    "patch_stride": 8,
    "d_model": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "ffn_dim": 16,
}
_CHANNELS_SILENT = "the model reports (example x channel) in the place of examples"
_SERIES = {
    "prediction_length": 4,
    "context_length": 8,
    "lags_sequence": [1, 2],
    "num_time_features": 1,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
}
_SERIES_WORDS = "2 encoder layers (self), 2 decoder layers (causal and cross)"


def _sound() -> Inputs:
    """Two sounds of 640 and 420 samples: 19 and 12 frames."""
    mask = torch.ones(2, 640, dtype=torch.long)
    mask[1, 420:] = 0
    return {"input_values": noise(2, 640), "attention_mask": mask}


def _spectrogram() -> Inputs:
    return {"input_values": noise(2, 24, 16)}


def _patches() -> Inputs:
    return {"past_values": noise(2, 32, 2)}


def _forecast() -> Inputs:
    return {
        "past_values": noise(2, 10),
        "past_time_features": noise(2, 10, 1, seed=3),
        "past_observed_mask": torch.ones(2, 10),
        "future_values": noise(2, 4, seed=4),
        "future_time_features": noise(2, 4, 1, seed=5),
    }


# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture("Wav2Vec2", "sound", "Wav2Vec2Model", "Wav2Vec2Config", _WAVE, _sound, {"self": 2}, _ONE_PER_LAYER),
    Architecture("HuBERT", "sound", "HubertModel", "HubertConfig", _WAVE, _sound, {"self": 2}, _ONE_PER_LAYER),
    Architecture(
        "WavLM", "sound", "WavLMModel", "WavLMConfig", _WAVE, _sound, {"self": 2},
        _ONE_PER_LAYER + " (gated position bias)", own=(),
        silent="the model reports the mean over heads, repeated for every head",
    ),
    Architecture(
        "AST", "sound", "ASTModel", "ASTConfig",
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
         "patch_size": 8, "frequency_stride": 8, "time_stride": 8, "max_length": 24, "num_mel_bins": 16},
        _spectrogram, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "PatchTST", "series", "PatchTSTModel", "PatchTSTConfig", _CHANNELS, _patches, {"windowed": 2},
        "2 layers; a patch sees the patches of its own channel only", own=(), silent=_CHANNELS_SILENT,
        note="positions run over the patches of the first channel, then of the second, and so on",
    ),
    Architecture(
        "PatchTST (across channels)", "series", "PatchTSTModel", "PatchTSTConfig",
        {**_CHANNELS, "channel_attention": True}, _patches, {"windowed": 4},
        "2 layers; a patch sees the patches of its own channel, then those of all channels at its own time", own=(),
        silent=_CHANNELS_SILENT,
    ),
    Architecture(
        "TimeSeriesTransformer", "series", "TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", _SERIES,
        _forecast, {"self": 2, "causal": 2, "cross": 2}, _SERIES_WORDS, own=_OWN,
    ),
    Architecture(
        "Informer", "series", "InformerModel", "InformerConfig", {**_SERIES, "sampling_factor": 2}, _forecast,
        {"self": 4, "cross": 2}, "2 encoder layers (self), 2 decoder layers (self and cross); self is ProbSparse",
        own=_OWN,
        note="ProbSparse attention: its rows are the queries that the model selected, in its order of selection (hence "
        "self rather than causal in the decoder); the other queries take a plain mean or running sum of the values",
    ),
    Architecture(
        "Autoformer", "series", "AutoformerModel", "AutoformerConfig",
        {**_SERIES, "label_length": 4, "moving_average": 3}, _forecast, {},
        "auto-correlation by Fourier transforms weighs whole shifted series, not keys", own=(), error="register_site",
    ),
)
# fmt: on
