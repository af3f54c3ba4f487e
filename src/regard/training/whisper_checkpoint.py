"""Convert a published Whisper checkpoint to a Hugging Face directory: weights, byte-pair tokenizer, features."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard.errors import EnvironmentProblem, phrase
from regard.models.open.checkpoints import quiet

_RENAMED = (
    ("blocks.", "layers."),
    (".mlp.0.", ".fc1."),
    (".mlp.2.", ".fc2."),
    (".mlp_ln.", ".final_layer_norm."),
    (".cross_attn_ln.", ".encoder_attn_layer_norm."),
    (".cross_attn.", ".encoder_attn."),
    (".attn_ln.", ".self_attn_layer_norm."),
    (".attn.", ".self_attn."),
    (".query.", ".q_proj."),
    (".key.", ".k_proj."),
    (".value.", ".v_proj."),
    (".out.", ".out_proj."),
    ("encoder.ln_post.", "encoder.layer_norm."),
    ("decoder.ln.", "decoder.layer_norm."),
    ("token_embedding.", "embed_tokens."),
    ("positional_embedding", "embed_positions.weight"),
)
_FRAMES_PER_SECOND = 50
"""Positions of the encoder: two frames of 10 ms each."""


def renamed(name: str) -> str:
    """Transformers' name for a weight of the published checkpoint.

    >>> renamed("decoder.blocks.0.cross_attn.query.weight")
    'model.decoder.layers.0.encoder_attn.q_proj.weight'
    """
    for ours, theirs in _RENAMED:
        name = name.replace(ours, theirs)
    return f"model.{name}"


def unpack_whisper(weights: Path, ranks: Path, out: Path, *, seconds: int) -> None:
    """Write an English-only Whisper as a Hugging Face directory in float32.

    weights: the published .pt file. ranks: the byte-pair ranks of its tokenizer. seconds: length of sound that the
    encoder reads at once; the published model reads 30, and its position vectors are cut for fewer.
    """
    import torch
    import transformers

    checkpoint: Mapping[str, Any] = torch.load(weights, map_location="cpu", weights_only=True)
    sizes = checkpoint["dims"]
    if not 1 <= seconds <= sizes["n_audio_ctx"] // _FRAMES_PER_SECOND:
        raise EnvironmentProblem(
            phrase("errors.common.file_place", place=weights),
            expected=phrase(
                "errors.training.seconds_n_audio_ctx", n_audio_ctx=sizes["n_audio_ctx"] // _FRAMES_PER_SECOND
            ),
            got=str(seconds),
            remedy="seconds=30",
        )
    vocabulary, merges = byte_pairs(ranks)
    special = special_tokens(sizes["n_vocab"] - len(vocabulary))
    ids = {token: len(vocabulary) + i for i, token in enumerate(special)}
    start, end, plain = (ids[f"<|{name}|>"] for name in ("startoftranscript", "endoftext", "notimestamps"))
    config_kind: Any = transformers.WhisperConfig
    config = config_kind(
        vocab_size=sizes["n_vocab"],
        num_mel_bins=sizes["n_mels"],
        d_model=sizes["n_audio_state"],
        encoder_layers=sizes["n_audio_layer"],
        encoder_attention_heads=sizes["n_audio_head"],
        decoder_layers=sizes["n_text_layer"],
        decoder_attention_heads=sizes["n_text_head"],
        encoder_ffn_dim=4 * sizes["n_audio_state"],
        decoder_ffn_dim=4 * sizes["n_text_state"],
        max_source_positions=seconds * _FRAMES_PER_SECOND,
        max_target_positions=sizes["n_text_ctx"],
        decoder_start_token_id=start,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        begin_suppress_tokens=[vocabulary["Ġ"], end],
    )
    tensors = {renamed(name): tensor.float() for name, tensor in checkpoint["model_state_dict"].items()}
    positions = "model.encoder.embed_positions.weight"
    tensors[positions] = tensors[positions][: config.max_source_positions]
    with quiet():
        model_kind: Any = transformers.WhisperForConditionalGeneration
        model = model_kind(config)
        missing, unexpected = model.load_state_dict(tensors, strict=False)
        if set(missing) - {"proj_out.weight"} or unexpected:  # the output shares the weights of the embedding
            got = phrase(
                "errors.training.missing_unexpected",
                missing=", ".join(missing) or "none",
                unexpected=", ".join(unexpected) or "none",
            )
            raise EnvironmentProblem(
                phrase("errors.common.file_place", place=weights),
                expected=phrase("errors.training.weights_whisper"),
                got=got,
            )
        model.tie_weights()
        facts = {
            "decoder_start_token_id": start,
            "bos_token_id": end,
            "eos_token_id": end,
            "pad_token_id": end,
            "begin_suppress_tokens": config.begin_suppress_tokens,
            "suppress_tokens": [*range(start, plain + 1)],
            "no_timestamps_token_id": plain,
            "is_multilingual": False,
            "return_timestamps": False,
            "max_length": sizes["n_text_ctx"],
            "_from_model_config": False,  # else transformers forgets what is not in the model config
        }
        for name, value in facts.items():
            setattr(model.generation_config, name, value)
        model.save_pretrained(out)
        tokenizer_kind: Any = transformers.WhisperTokenizer
        tokenizer = tokenizer_kind(vocab=vocabulary, merges=merges)
        tokenizer.add_special_tokens({"additional_special_tokens": special[: special.index("<|notimestamps|>") + 1]})
        tokenizer.add_tokens(special[special.index("<|notimestamps|>") + 1 :])
        if [tokenizer.convert_tokens_to_ids(token) for token in special] != [ids[token] for token in special]:
            raise EnvironmentProblem(
                phrase("errors.common.file_place", place=ranks),
                expected=phrase("errors.training.ids_that_follow_vocabulary"),
                got=phrase("errors.common.others"),
            )
        extractor_kind: Any = transformers.WhisperFeatureExtractor
        extractor = extractor_kind(feature_size=sizes["n_mels"], chunk_length=seconds)
        processor_kind: Any = transformers.WhisperProcessor
        processor_kind(extractor, tokenizer).save_pretrained(out)


def special_tokens(count: int) -> list[str]:
    """Special tokens after the byte pairs of the English vocabulary, in order of their ids.

    >>> special_tokens(1608)[-1]
    '<|30.00|>'
    """
    from transformers.models.whisper.tokenization_whisper import LANGUAGES

    marks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    times = [f"{step * 0.02:.2f}" for step in range(1501)]
    languages = list(LANGUAGES)[: count - 2 - len(marks) - len(times)]
    return [f"<|{name}|>" for name in ("endoftext", "startoftranscript", *languages, *marks, *times)]


def byte_pairs(ranks: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """(vocabulary, merges) of a file of byte strings and their ranks.

    The last merge of a string joins the two parts that remain when only earlier ranks may merge.
    """
    rows = [line.split() for line in ranks.read_bytes().splitlines() if line]
    table = {base64.b64decode(token): int(rank) for token, rank in rows}
    letters = _letters()

    def spelt(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = []
    for token, rank in sorted(table.items(), key=lambda pair: pair[1]):
        if len(token) > 1:
            first, second = _last_merge(token, rank, table)
            merges.append((spelt(first), spelt(second)))
    return {spelt(token): rank for token, rank in table.items()}, merges


def _last_merge(token: bytes, rank: int, table: Mapping[bytes, int]) -> tuple[bytes, bytes]:
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        pairs = [(table.get(a + b, rank), i) for i, (a, b) in enumerate(pairwise(parts))]
        best, at = min(pairs)
        if best >= rank:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    if len(parts) != 2:
        raise EnvironmentProblem(
            phrase("errors.training.byte_pairs"),
            expected=phrase("errors.training.every_string_two_shorter_ones"),
            got=repr(token),
        )
    return parts[0], parts[1]


def _letters() -> dict[int, str]:
    """Printable letter for every byte: itself if printable, else the next letter after Latin-1."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(printable)))
    return letters
