"""Hugging Face models of sound: Wav2Vec2-like (samples), AST (patches of a spectrogram), Whisper (writes)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import InputError, Unsupported, phrase
from regard.models.adapter import Traits
from regard.models.read.regions import Array
from regard.models.read.sound import SoundReader, bounded_reader, normalised, sound_reader
from regard.models.read.spectrogram import Grid, log_mel, spectrogram_reader
from regard.records import Json

SAMPLES = "samples"
"""Main array of a model whose features are computed inside the explained function."""

Front = Callable[[Mapping[str, Tensor]], dict[str, Tensor]]
"""The tensors of the reader -> the tensors of the module, differentiable."""


def hears(module: nn.Module) -> bool:
    """Return whether the main input of a model is a sound."""
    return str(getattr(module, "main_input_name", "")) == "input_features"


def open_sound(
    module: nn.Module, processor: Any, *, name: str, accepted: frozenset[str], config: Mapping[str, Json]
) -> tuple[SoundReader, Traits]:
    """Reader and traits of a sound model."""
    native: Any = module.config
    if str(native.model_type) == "whisper" and hears(module):
        return _whisper(module, processor, name, config)
    extractor = getattr(processor, "feature_extractor", processor)
    rate = int(getattr(extractor, "sampling_rate", 0) or 0)
    kernels, strides = getattr(native, "conv_kernel", None), getattr(native, "conv_stride", None)
    if "input_values" in accepted and kernels and strides:
        reader = sound_reader("input_values", [*map(int, kernels)], [*map(int, strides)], rate)
        if _evens(extractor):  # a path from silence only makes the sound louder, which such a model cannot tell
            reader.start = "resample"
        return reader, Traits(pads=False, pooling="mean", config=config)
    if str(native.model_type) == "audio-spectrogram-transformer":
        return _patches(native, extractor, name, config)
    raise Unsupported(
        f"{name}",
        expected=phrase("errors.models.whisper_ast_or_model_that_reads"),
        got=phrase("errors.models.with_features_own", model_type=native.model_type),
        remedy=phrase("errors.models.regard_models_open_wrap_wrap"),
    )


def sound_front(module: nn.Module, processor: Any) -> Front | None:
    """Features of a model as a differentiable function of its samples; None if the reader's array is enough."""
    native: Any = module.config
    if str(native.model_type) == "whisper" and hears(module):
        return _whisper_front(_extractor(processor, str(native.model_type)))
    if not _evens(processor) or not getattr(native, "conv_stride", None):
        return None

    def evened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {**tensors, "input_values": normalised(tensors["input_values"])}

    return evened


def _evens(processor: Any) -> bool:
    """Return whether the features of a raw-sample model are its standardised samples."""
    return bool(getattr(getattr(processor, "feature_extractor", processor), "do_normalize", False))


def _extractor(processor: Any, name: str) -> Any:
    extractor = getattr(processor, "feature_extractor", processor)
    if getattr(extractor, "mel_filters", None) is None:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.feature_extractor_beside_weights"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.load_model_processor_b"),
        )
    return extractor


def _whisper_front(extractor: Any) -> Front:
    filters = torch.from_numpy(np.asarray(extractor.mel_filters, np.float32))
    sizes = {"window": int(extractor.n_fft), "hop": int(extractor.hop_length), "most": int(extractor.n_samples)}

    def features(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        sound = tensors[SAMPLES]
        mel = log_mel(sound, filters.to(sound.device), **sizes).to(sound.dtype)
        return {**{key: value for key, value in tensors.items() if key != SAMPLES}, "input_features": mel}

    return features


def _whisper(module: nn.Module, processor: Any, name: str, config: Mapping[str, Json]) -> tuple[SoundReader, Traits]:
    native: Any = module.config
    extractor = _extractor(processor, name)
    tokenizer: Any = getattr(processor, "tokenizer", None)
    writes = native_writes(module)
    if writes and tokenizer is None:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.tokenizer_beside_weights"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.save_processor_into_model"),
        )
    rate, most = int(extractor.sampling_rate), int(extractor.n_samples)
    frames = int(native.max_source_positions)
    if most // int(extractor.hop_length) != 2 * frames:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.feature_extractor_steps", frames=2 * frames),
            got=f"{most // int(extractor.hop_length)}",
            remedy=f"WhisperFeatureExtractor(chunk_length={2 * frames * int(extractor.hop_length) // rate})",
        )
    reader = bounded_reader(SAMPLES, most // frames, most, rate)
    if not writes:
        return reader, Traits(pooling="mean", config=config)
    reader.spell = lambda ids: [_spelt(tokenizer, i) for i in ids]
    reader.join = lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
    front = _whisper_front(extractor)
    forced = decoder_prompt(module)
    end = int(native.eos_token_id)

    def expected(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = tokenizer(f" {text}", add_special_tokens=False, return_offsets_mapping=True)
        places = [(max(0, a - 1), b - 1) for a, b in found["offset_mapping"]]
        return [*forced, *found["input_ids"], end], [*((0, 0) for _ in forced), *places, (0, 0)]

    reader.expected = expected

    def write(inner: nn.Module, tensors: Mapping[str, Tensor], most_tokens: int) -> list[list[int]]:
        return _transcribed(inner, front(tensors), forced, most_tokens)

    traits = Traits(
        encoder_decoder=True,
        pad_id=int(native.pad_token_id),
        forced=frozenset(forced),
        config=config,
        new_tokens=64,
        write=write,
        tokenizer=tokenizer,
    )
    return reader, traits


def _spelt(tokenizer: Any, token: int) -> str:
    """Spell a token with the space before it, which begins a word; use the raw name of one without letters."""
    return str(tokenizer.decode([token])) or str(tokenizer.convert_ids_to_tokens(token))


def native_writes(module: nn.Module) -> bool:
    """Return whether a model of transformers can generate."""
    native: Any = module
    return bool(getattr(native, "can_generate", lambda: False)())


def decoder_prompt(module: nn.Module) -> tuple[int, ...]:
    """Tokens between the start token and the first word: English, transcribe, no time stamps."""
    settings: Any = module.generation_config
    languages = getattr(settings, "lang_to_id", None) or {}
    tasks = getattr(settings, "task_to_id", None) or {}
    ids = [languages.get("<|en|>"), tasks.get("transcribe"), getattr(settings, "no_timestamps_token_id", None)]
    return tuple(int(i) for i in ids if i is not None)


def _transcribed(module: nn.Module, tensors: Mapping[str, Tensor], forced: Sequence[int], most: int) -> list[list[int]]:
    """Greedy transcript of every sound: the forced tokens, then words, up to and including the end token."""
    native: Any = module
    settings: Any = native.generation_config
    end, features = int(native.config.eos_token_id), tensors["input_features"]
    stamps = range(max(forced, default=end) + 1, int(native.config.vocab_size)) if forced else ()
    forbidden = {*(settings.suppress_tokens or ()), *forced, *stamps} - {end, -1}
    never = torch.tensor(sorted(forbidden), device=features.device)
    not_first = torch.tensor(list(settings.begin_suppress_tokens or ()), device=features.device, dtype=torch.long)
    memory = native.get_encoder()(features)
    start = int(native.config.decoder_start_token_id)
    ids = torch.tensor([[start, *forced]] * len(features), device=features.device)
    done = torch.zeros(len(features), dtype=torch.bool, device=features.device)
    limit = min(most, int(native.config.max_target_positions) - ids.shape[1])
    past, last = None, ids
    for step in range(limit):
        out = native(encoder_outputs=memory, decoder_input_ids=last, past_key_values=past, use_cache=True)
        past, scores = out.past_key_values, out.logits[:, -1].clone()
        scores[:, never] = float("-inf")
        if step == 0:
            scores[:, not_first] = float("-inf")
        last = torch.where(done[:, None], end, scores.argmax(-1, keepdim=True))
        ids, done = torch.cat([ids, last], 1), done | (last[:, 0] == end)
        if bool(done.all()):
            break
    rows = []
    for row in ids[:, 1:].tolist():
        written = row[len(forced) :]
        stop = written.index(end) + 1 if end in written else len(written)
        rows.append([*forced, *written[:stop]])
    return rows


def _patches(native: Any, extractor: Any, name: str, config: Mapping[str, Json]) -> tuple[SoundReader, Traits]:
    if getattr(extractor, "num_mel_bins", None) is None:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.feature_extractor_beside_weights"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.load_model_processor_c"),
        )
    rate = int(extractor.sampling_rate)
    sizes = (int(extractor.max_length), int(extractor.num_mel_bins)), (int(native.max_length), int(native.num_mel_bins))
    if sizes[0] != sizes[1]:
        raise InputError(
            phrase("errors.common.model_live", live=name),
            expected=phrase("errors.models.feature_extractor_steps_and_bands", sizes=sizes[1][0], sizes_2=sizes[1][1]),
            got=phrase("errors.common.and_model", model=sizes[0][0], model_option=sizes[0][1]),
        )

    def extract(sound: Array) -> Array:
        return np.asarray(extractor(sound, sampling_rate=rate, return_tensors="np")["input_values"][0])

    strides = (int(native.frequency_stride), int(native.time_stride))
    grid = Grid(int(native.patch_size), strides, lead=2, hop=rate // 100, window=rate // 40)
    return spectrogram_reader("input_values", extract, grid, rate), Traits(pooling="class", config=config)
