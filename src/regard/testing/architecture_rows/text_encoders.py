"""Encoders of text: every token sees every other, but for padding and windows."""

from __future__ import annotations

from regard.testing.architecture import Architecture
from regard.testing.architecture_inputs import (
    long_text,
    page,
    text,
    text_on_page,
    text_with_global_token,
    text_without_mask,
)

_SIZE = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
_FAMILY = "text encoder"
_ONE_PER_LAYER = "2 layers, one self-attention each"

# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture("BERT", _FAMILY, "BertModel", "BertConfig", _SIZE, text, {"self": 2}, _ONE_PER_LAYER),
    Architecture("RoBERTa", _FAMILY, "RobertaModel", "RobertaConfig", _SIZE, text, {"self": 2}, _ONE_PER_LAYER),
    Architecture(
        "XLM-RoBERTa", _FAMILY, "XLMRobertaModel", "XLMRobertaConfig", _SIZE, text, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture("CamemBERT", _FAMILY, "CamembertModel", "CamembertConfig", _SIZE, text, {"self": 2}, _ONE_PER_LAYER),
    Architecture(
        "DistilBERT", _FAMILY, "DistilBertModel", "DistilBertConfig",
        {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 64},
        text, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "ELECTRA", _FAMILY, "ElectraModel", "ElectraConfig", {**_SIZE, "embedding_size": 16}, text, {"self": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "ALBERT", _FAMILY, "AlbertModel", "AlbertConfig", {**_SIZE, "embedding_size": 16}, text, {"self": 2},
        "2 layers that are one module called twice",
    ),
    Architecture(
        "LayoutLM", _FAMILY, "LayoutLMModel", "LayoutLMConfig", _SIZE, text_on_page, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "LayoutLMv3", _FAMILY, "LayoutLMv3Model", "LayoutLMv3Config",
        {**_SIZE, "input_size": 32, "patch_size": 16, "coordinate_size": 6, "shape_size": 4, "rel_pos_bins": 8,
         "rel_2d_pos_bins": 8}, page, {"self": 2}, _ONE_PER_LAYER + "; words and picture patches in one sequence",
    ),
    Architecture(
        "ModernBERT", _FAMILY, "ModernBertModel", "ModernBertConfig",
        {**_SIZE, "global_attn_every_n_layers": 2, "local_attention": 4, "pad_token_id": 0, "cls_token_id": 1,
         "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}, text, {"self": 1, "windowed": 1},
        "2 layers: the first global, the second with a window of 2 on each side",
    ),
    Architecture(
        "DeBERTa", _FAMILY, "DebertaModel", "DebertaConfig",
        {**_SIZE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16,
         "position_biased_input": False}, text, {"self": 2},
        _ONE_PER_LAYER + " (content and position scores in one softmax)",
    ),
    Architecture(
        "DeBERTa-v2", _FAMILY, "DebertaV2Model", "DebertaV2Config",
        {**_SIZE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16,
         "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm"}, text, {"self": 2},
        _ONE_PER_LAYER + " (content and position scores in one softmax)",
    ),
    Architecture("MPNet", _FAMILY, "MPNetModel", "MPNetConfig", _SIZE, text, {"self": 2}, _ONE_PER_LAYER),
    Architecture(
        "XLNet", _FAMILY, "XLNetModel", "XLNetConfig",
        {"vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 40, "attn_type": "bi"}, text,
        {"self": 2}, _ONE_PER_LAYER + " (content stream; relative positions)",
    ),
    Architecture(
        "BigBird (full)", _FAMILY, "BigBirdModel", "BigBirdConfig", {**_SIZE, "attention_type": "original_full"},
        text, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "BigBird (block sparse)", _FAMILY, "BigBirdModel", "BigBirdConfig",
        {**_SIZE, "num_hidden_layers": 1, "attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 2},
        long_text, {"self": 4, "windowed": 1},
        "1 layer of blocks of 2, with one softmax for each of the first two, the last two, and all other blocks",
        own=(), silent="the model reports weights that it puts together from the five",
        note="block-sparse attention is kept in the blocks in which it is computed: query rows are those of a block "
        "(the batch axis of the middle site is example x block), and which keys were drawn is not in the record",
    ),
    Architecture(
        "Longformer", _FAMILY, "LongformerModel", "LongformerConfig", {**_SIZE, "attention_window": [4, 4]}, text,
        {"windowed": 2}, "2 layers, one attention each with a window of 2 on each side", own=(),
        silent="the model reports bands (offset from the query), not (query, key)",
        note="the model pads the text to whole windows; these positions are in the record, as padding",
    ),
    Architecture(
        "Longformer (global token)", _FAMILY, "LongformerModel", "LongformerConfig",
        {**_SIZE, "attention_window": [4, 4]}, text_with_global_token, {"windowed": 2, "self": 2},
        "2 layers: the window and the global token as a key, then the row of the global token as a query", own=(),
        silent="the model reports bands (offset from the query), not (query, key)",
        note="the row of a global token is 0 in the first site of a layer and stands in the second",
    ),
    Architecture(
        "ESM", _FAMILY, "EsmModel", "EsmConfig",
        {**_SIZE, "position_embedding_type": "rotary", "pad_token_id": 0, "mask_token_id": 1, "token_dropout": False},
        text, {"self": 2}, _ONE_PER_LAYER + " (proteins; rotary positions)",
    ),
    Architecture(
        "RoFormer", _FAMILY, "RoFormerModel", "RoFormerConfig", {**_SIZE, "embedding_size": 32}, text, {"self": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "SqueezeBERT", _FAMILY, "SqueezeBertModel", "SqueezeBertConfig",
        {**_SIZE, "embedding_size": 32, "q_groups": 2, "k_groups": 2, "v_groups": 2, "post_attention_groups": 1,
         "intermediate_groups": 2, "output_groups": 2}, text, {"self": 2}, _ONE_PER_LAYER, own=(),
        silent="the model reports scores before the softmax",
    ),
    Architecture(
        "Funnel", _FAMILY, "FunnelModel", "FunnelConfig",
        {"vocab_size": 99, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32, "n_head": 4, "d_head": 8,
         "d_inner": 40}, text, {"self": 2, "cross": 1},
        "2 blocks of 1 layer (the second: queries pooled by 2 against all keys, hence cross) and 1 decoder layer",
    ),
    Architecture(
        "ConvBERT", _FAMILY, "ConvBertModel", "ConvBertConfig",
        {**_SIZE, "embedding_size": 32, "head_ratio": 2, "conv_kernel_size": 3}, text, {"self": 2},
        _ONE_PER_LAYER + "; the softmax over the 3 taps of its generated convolution is not attention", rejected=2,
    ),
    Architecture(
        "TAPAS", _FAMILY, "TapasModel", "TapasConfig", {**_SIZE, "type_vocab_sizes": [3, 8, 8, 2, 8, 8, 8]}, text,
        {"self": 2}, _ONE_PER_LAYER + " (tables)",
    ),
    Architecture(
        "CANINE", _FAMILY, "CanineModel", "CanineConfig",
        {**_SIZE, "num_hash_buckets": 16, "num_hash_functions": 4, "local_transformer_stride": 4,
         "downsampling_rate": 2, "upsampling_kernel_size": 2}, text, {"self": 6},
        "a local layer over 9 characters in chunks of 4 (3 calls), 2 deep layers, 1 final layer", own=(),
        silent="the model reports one chunk of its local layer only",
    ),
    Architecture(
        "XLM", _FAMILY, "XLMModel", "XLMConfig",
        {"vocab_size": 99, "emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64, "pad_index": 0},
        text, {"self": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "Nystromformer", _FAMILY, "NystromformerModel", "NystromformerConfig",
        {**_SIZE, "num_landmarks": 3, "segment_means_seq_len": 9, "conv_kernel_size": 3}, text_without_mask,
        {"self": 6},
        "2 layers, three softmaxes each: tokens to 3 landmarks, landmarks to landmarks, landmarks to tokens", own=(),
        silent="the attention that is reported, their product with a pseudo-inverse, is not a softmax",
        note="its weights are three factors per layer; the attention itself, their product with a pseudo-inverse, is "
        "never a softmax and may be negative",
    ),
    Architecture(
        "FNet", _FAMILY, "FNetModel", "FNetConfig", {k: v for k, v in _SIZE.items() if "heads" not in k}, text, {},
        "Fourier transforms mix the tokens: no attention anywhere", own=(), error="no attention",
    ),
    Architecture(
        "Reformer", _FAMILY, "ReformerModel", "ReformerConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_attention_heads": 4, "attention_head_size": 8,
         "attn_layers": ["local", "lsh"], "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_buckets": 2,
         "num_hashes": 1, "feed_forward_size": 40, "axial_pos_embds": False, "max_position_embeddings": 64,
         "is_decoder": False, "hash_seed": 0, "use_cache": False}, text, {},
        "weights are written as exp(scores - logsumexp), which no tap can tell from other arithmetic", own=(),
        error="register_site",
    ),
)
# fmt: on
