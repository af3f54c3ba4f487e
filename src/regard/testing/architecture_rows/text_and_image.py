"""Two towers, or pictures among the words."""

from __future__ import annotations

import torch

from regard.testing.architecture import Architecture, Inputs
from regard.testing.architecture_inputs import image, noise, text, token_ids

_FAMILY = "text and image"
_TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_VISION = {
    "image_size": 32,
    "patch_size": 16,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
}
_TOWERS = {"text_config": _TEXT, "vision_config": _VISION, "projection_dim": 16}
_TOWERS_OWN = (
    ("text_model_output.attentions", "text_model.*"),
    ("vision_model_output.attentions", "vision_model.encoder.*"),
)


def _pair() -> Inputs:
    return {**text(), **image()}


def _regions() -> Inputs:
    """Words, and 3 regions of a picture with their boxes."""
    return {**text(), "visual_feats": noise(2, 3, 8), "visual_pos": noise(2, 3, 4, seed=3)}


def _picture_in_text() -> Inputs:
    """4 patches stand at 4 places of the text."""
    ids = token_ids(2, 9)
    ids[:, 1:5] = 3
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **image()}


def _picture_in_grid() -> Inputs:
    """Two pictures of 4 x 4 patches, merged by 2 x 2 into 4 places of the text each."""
    ids = token_ids(2, 9)
    ids[:, 1], ids[:, 2:6], ids[:, 6] = 4, 3, 5
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == 3).int(),
        "pixel_values": noise(32, 3 * 2 * 8 * 8),
        "image_grid_thw": torch.tensor([[1, 4, 4], [1, 4, 4]]),
    }


# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture(
        "CLIP", _FAMILY, "CLIPModel", "CLIPConfig", _TOWERS, _pair, {"causal": 2, "self": 2},
        "2 causal text layers, 2 vision layers", own=_TOWERS_OWN,
    ),
    Architecture(
        "SigLIP", _FAMILY, "SiglipModel", "SiglipConfig", {"text_config": _TEXT, "vision_config": _VISION}, _pair,
        {"self": 4, "pooling": 1}, "2 text layers, 2 vision layers, 1 pooling head with one learned query",
        own=_TOWERS_OWN, silent="the pooling head",
    ),
    Architecture(
        "BLIP", _FAMILY, "BlipForImageTextRetrieval", "BlipConfig",
        {"text_config": {**_TEXT, "encoder_hidden_size": 32, "is_decoder": True}, "vision_config": _VISION,
         "projection_dim": 16, "image_text_hidden_size": 16}, _pair, {"self": 4, "cross": 2},
        "2 vision layers, 2 text layers (self and cross)", own=(("attentions", "vision_model.*"),),
        silent="the text encoder",
    ),
    Architecture(
        "LLaVA", _FAMILY, "LlavaForConditionalGeneration", "LlavaConfig",
        {"text_config": {"model_type": "llama", **_TEXT, "num_key_value_heads": 2},
         "vision_config": {"model_type": "clip_vision_model", **_VISION}, "image_token_index": 3,
         "vision_feature_layer": -1}, _picture_in_text, {"self": 2, "causal": 2},
        "2 vision layers, 2 language layers", own=(("attentions", "*language_model*"),), silent="the vision tower",
    ),
    Architecture(
        "Qwen2-VL", _FAMILY, "Qwen2VLForConditionalGeneration", "Qwen2VLConfig",
        {"text_config": {**_TEXT, "num_key_value_heads": 2, "rope_parameters": {"rope_type": "default",
         "mrope_section": [1, 1, 2], "rope_theta": 10000.0}}, "vision_config": {"depth": 2, "embed_dim": 32,
         "hidden_size": 32, "num_heads": 4, "mlp_ratio": 2, "patch_size": 8, "temporal_patch_size": 2,
         "spatial_merge_size": 2}, "image_token_id": 3, "vision_start_token_id": 4, "vision_end_token_id": 5},
        _picture_in_grid, {"self": 4, "causal": 2},
        "2 vision layers, called for each of the 2 pictures, and 2 language layers",
        own=(("attentions", "*language_model*"),), silent="the vision tower",
        note="a vision layer is called once per picture: one site per picture, without a batch axis",
    ),
    Architecture(
        "ViLT", _FAMILY, "ViltModel", "ViltConfig", {**_VISION, "vocab_size": 99, "max_position_embeddings": 64},
        _pair, {"self": 2}, "2 layers over words and patches together",
    ),
    Architecture(
        "LXMERT", _FAMILY, "LxmertModel", "LxmertConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 40, "l_layers": 1,
         "x_layers": 1, "r_layers": 1, "visual_feat_dim": 8, "max_position_embeddings": 64}, _regions,
        {"self": 4, "cross": 2}, "1 language, 1 vision layer; 1 cross layer: both directions, then self in each",
        own=(("language_attentions", "encoder.layer.*"), ("vision_attentions", "encoder.r_layers.*"),
         ("cross_encoder_attentions", "encoder.x_layers.*.visual_attention.att")),
        silent="one direction of the cross layer, and the self-attentions after it",
    ),
    Architecture(
        "BLIP-2", _FAMILY, "Blip2ForConditionalGeneration", "Blip2Config",
        {"vision_config": _VISION, "qformer_config": {**_TEXT, "encoder_hidden_size": 32,
         "cross_attention_frequency": 1}, "text_config": {"model_type": "opt", "vocab_size": 99, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40, "max_position_embeddings": 64,
         "word_embed_proj_dim": 32, "pad_token_id": 0}, "num_query_tokens": 4, "image_token_index": 3},
        _picture_in_text, {"self": 4, "cross": 2, "causal": 2},
        "2 vision layers, 2 layers of the query former (self and cross), 2 language layers",
        own=(("language_model_outputs.attentions", "language_model.*"),),
        silent="the vision tower and the query former",
    ),
)
# fmt: on
