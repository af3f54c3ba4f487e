"""Pictures as sequences of patches."""

from __future__ import annotations

from regard.testing.architecture import Architecture, Inputs
from regard.testing.architecture_inputs import RESNET, image, noise

_FAMILY = "vision"
_ONE_PER_LAYER = "2 layers, one self-attention each"
_SIZE = {
    "image_size": 32,
    "patch_size": 8,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
}
_SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
_SWIN_WORDS = "2 stages of 2 blocks; within windows of 4 x 4 patches, every second block shifted"
_SWIN_SILENT = "the model reports one of the two blocks of each stage"


def _pixels() -> Inputs:
    return {"inputs": noise(2, 3, 8, 8)}


# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture("ViT", _FAMILY, "ViTModel", "ViTConfig", _SIZE, image, {"self": 2}, _ONE_PER_LAYER),
    Architecture("DeiT", _FAMILY, "DeiTModel", "DeiTConfig", _SIZE, image, {"self": 2}, _ONE_PER_LAYER),
    Architecture("DINOv2", _FAMILY, "Dinov2Model", "Dinov2Config", _SIZE, image, {"self": 2}, _ONE_PER_LAYER),
    Architecture(
        "BEiT", _FAMILY, "BeitModel", "BeitConfig", {**_SIZE, "use_relative_position_bias": True}, image, {"self": 2},
        _ONE_PER_LAYER + "; relative position bias",
    ),
    Architecture(
        "Swin", _FAMILY, "SwinModel", "SwinConfig", _SWIN, image, {"windowed": 4}, _SWIN_WORDS, own=(),
        silent=_SWIN_SILENT,
    ),
    Architecture(
        "SwinV2", _FAMILY, "Swinv2Model", "Swinv2Config", _SWIN, image, {"windowed": 4}, _SWIN_WORDS, own=(),
        silent=_SWIN_SILENT,
    ),
    Architecture(
        "YOLOS", _FAMILY, "YolosModel", "YolosConfig", {**_SIZE, "image_size": [32, 32], "num_detection_tokens": 4},
        image, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "Perceiver", _FAMILY, "PerceiverForImageClassificationLearned", "PerceiverConfig",
        {"image_size": 8, "num_latents": 6, "d_latents": 16, "d_model": 16, "num_blocks": 1,
         "num_self_attends_per_block": 2, "num_self_attention_heads": 4, "num_cross_attention_heads": 2}, _pixels,
        {"self": 2, "cross": 1, "pooling": 1},
        "6 latents read the pixels (cross) and each other twice (self); the decoder reads them with one query",
        own=(("attentions", "*self_attends*"), ("cross_attentions", "*cross_attention*")),
    ),
    Architecture(
        "SegFormer", _FAMILY, "SegformerModel", "SegformerConfig",
        {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
         "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [2, 4], "mlp_ratios": [2, 2]}, image,
        {"self": 1, "cross": 1},
        "2 blocks of 1 layer (the first: all queries against keys pooled by 2 x 2, hence cross)",
    ),
    Architecture(
        "DINOv2 with registers", _FAMILY, "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig",
        {**_SIZE, "num_register_tokens": 2}, image, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "ViT-MAE", _FAMILY, "ViTMAEModel", "ViTMAEConfig", _SIZE, image, {"self": 2},
        _ONE_PER_LAYER + "; a quarter of the patches",
    ),
    Architecture(
        "Deformable DETR", _FAMILY, "DeformableDetrModel", "DeformableDetrConfig",
        {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "num_queries": 5,
         "num_feature_levels": 1, "backbone_config": RESNET}, image, {"self": 1},
        "1 decoder layer, self among 5 object queries", own=(("decoder_attentions", "decoder.*self_attn"),),
        note="deformable attention weighs 4 points sampled between pixels by a linear layer of the query: there are no "
         "keys, and it is listed as rejected", rejected=2,
    ),
)
# fmt: on
