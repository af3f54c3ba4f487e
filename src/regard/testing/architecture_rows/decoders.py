"""Decoders of text: every token sees itself and what came before."""

from __future__ import annotations

from regard.testing.architecture import Architecture
from regard.testing.architecture_inputs import text, text_padded_left

_FAMILY = "text decoder"
_ONE_PER_LAYER = "2 layers, one causal self-attention each"
_SIZE = {
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
_GROUPED = {**_SIZE, "num_key_value_heads": 2}
_WINDOW = "; the window of 4 is shorter than the text"

# fmt: off
ROWS: tuple[Architecture, ...] = (
    Architecture(
        "GPT-2", _FAMILY, "GPT2LMHeadModel", "GPT2Config",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1,
         "eos_token_id": 2}, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "GPT-NeoX", _FAMILY, "GPTNeoXForCausalLM", "GPTNeoXConfig", _SIZE, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "GPT-Neo", _FAMILY, "GPTNeoForCausalLM", "GPTNeoConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 40,
         "attention_types": [[["global", "local"], 1]], "window_size": 4, "max_position_embeddings": 64,
         "bos_token_id": 1, "eos_token_id": 2}, text, {"causal": 1, "windowed": 1},
        "2 layers: the first global, the second local" + _WINDOW,
    ),
    Architecture(
        "GPT-J", _FAMILY, "GPTJForCausalLM", "GPTJConfig",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4,
         "bos_token_id": 1, "eos_token_id": 2}, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "CodeGen", _FAMILY, "CodeGenForCausalLM", "CodeGenConfig",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4,
         "bos_token_id": 1, "eos_token_id": 2}, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "OPT", _FAMILY, "OPTForCausalLM", "OPTConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 40,
         "max_position_embeddings": 64, "word_embed_proj_dim": 32, "pad_token_id": 0}, text, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "Llama", _FAMILY, "LlamaForCausalLM", "LlamaConfig", _GROUPED, text_padded_left, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "Qwen2", _FAMILY, "Qwen2ForCausalLM", "Qwen2Config", _GROUPED, text_padded_left, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "Qwen3", _FAMILY, "Qwen3ForCausalLM", "Qwen3Config", {**_GROUPED, "head_dim": 8}, text, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture("Phi3", _FAMILY, "Phi3ForCausalLM", "Phi3Config", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER),
    Architecture(
        "Mistral", _FAMILY, "MistralForCausalLM", "MistralConfig", {**_GROUPED, "sliding_window": 4}, text,
        {"windowed": 2}, _ONE_PER_LAYER + _WINDOW,
    ),
    Architecture(
        "Mixtral", _FAMILY, "MixtralForCausalLM", "MixtralConfig",
        {**_GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}, text, {"causal": 2},
        _ONE_PER_LAYER + "; the softmaxes of the 2 expert routers are not attention", rejected=2,
    ),
    Architecture(
        "DeepSeek-V3", _FAMILY, "DeepseekV3ForCausalLM", "DeepseekV3Config",
        {**_SIZE, "num_key_value_heads": 4, "moe_intermediate_size": 16, "n_routed_experts": 8,
         "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "kv_lora_rank": 16,
         "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}, text, {"causal": 2},
        _ONE_PER_LAYER + " (latent keys and values)",
    ),
    Architecture(
        "Gemma2", _FAMILY, "Gemma2ForCausalLM", "Gemma2Config", {**_GROUPED, "head_dim": 8, "sliding_window": 4},
        text, {"causal": 1, "windowed": 1},
        "2 layers: the first with a window of 4, the second global; capped scores",
    ),
    Architecture(
        "Gemma3", _FAMILY, "Gemma3ForCausalLM", "Gemma3TextConfig",
        {**_GROUPED, "head_dim": 8, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
        text_padded_left, {"causal": 1, "windowed": 1}, "2 layers: the first with a window of 4, the second global",
    ),
    Architecture(
        "gpt-oss", _FAMILY, "GptOssForCausalLM", "GptOssConfig",
        {**_GROUPED, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4,
         "layer_types": ["sliding_attention", "full_attention"]}, text, {"causal": 1, "windowed": 1},
        "2 layers: the first with a window of 4, the second global", sink=True,
        note="a learned sink takes part of every row: rows sum to 1 minus `sink`", rejected=2,
    ),
    Architecture(
        "BLOOM", _FAMILY, "BloomForCausalLM", "BloomConfig",
        {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "MPT", _FAMILY, "MptForCausalLM", "MptConfig",
        {"vocab_size": 99, "d_model": 32, "n_layers": 2, "n_heads": 4, "expansion_ratio": 2, "max_seq_len": 64}, text,
        {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "Falcon", _FAMILY, "FalconForCausalLM", "FalconConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "bos_token_id": 1,
         "eos_token_id": 2, "pad_token_id": 0}, text, {"causal": 2}, _ONE_PER_LAYER,
        note="asking Falcon itself for weights changes its logits; compared with a model that is eager from the start",
    ),
    Architecture(
        "StableLM", _FAMILY, "StableLmForCausalLM", "StableLmConfig", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture("Cohere", _FAMILY, "CohereForCausalLM", "CohereConfig", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER),
    Architecture("OLMo2", _FAMILY, "Olmo2ForCausalLM", "Olmo2Config", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER),
    Architecture(
        "Mamba", _FAMILY, "MambaForCausalLM", "MambaConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "bos_token_id": 1,
         "eos_token_id": 2, "pad_token_id": 0}, text, {}, "a state-space model: no attention anywhere", own=(),
        error="no attention",
    ),
    Architecture(
        "Gemma", _FAMILY, "GemmaForCausalLM", "GemmaConfig", {**_GROUPED, "head_dim": 8}, text, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture("Phi", _FAMILY, "PhiForCausalLM", "PhiConfig", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER),
    Architecture(
        "SmolLM3", _FAMILY, "SmolLM3ForCausalLM", "SmolLM3Config", _GROUPED, text, {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "GPT-BigCode", _FAMILY, "GPTBigCodeForCausalLM", "GPTBigCodeConfig",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1,
         "eos_token_id": 2}, text, {"causal": 2}, _ONE_PER_LAYER + " (one key head for all)",
    ),
    Architecture(
        "OpenAI GPT", _FAMILY, "OpenAIGPTLMHeadModel", "OpenAIGPTConfig",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}, text, {"causal": 2},
        _ONE_PER_LAYER,
    ),
    Architecture(
        "CTRL", _FAMILY, "CTRLLMHeadModel", "CTRLConfig",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "dff": 40}, text,
        {"causal": 2}, _ONE_PER_LAYER,
    ),
    Architecture(
        "Qwen3-MoE", _FAMILY, "Qwen3MoeForCausalLM", "Qwen3MoeConfig",
        {**_GROUPED, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}, text,
        {"causal": 2}, _ONE_PER_LAYER + "; the softmaxes of the 2 expert routers are not attention", rejected=2,
    ),
    Architecture(
        "Jamba", _FAMILY, "JambaForCausalLM", "JambaConfig",
        {**_GROUPED, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2,
         "expert_layer_offset": 1, "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 8, "mamba_dt_rank": 4,
         "use_mamba_kernels": False}, text, {"causal": 1},
        "2 layers: the first a state-space layer, the second attention", rejected=1,
    ),
    Architecture(
        "RWKV", _FAMILY, "RwkvForCausalLM", "RwkvConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32,
         "intermediate_size": 40, "context_length": 64}, text, {},
        "a recurrence that is called attention: there are no weights over keys", own=(), error="register_site",
    ),
)
# fmt: on
