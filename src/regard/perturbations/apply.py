"""Apply a noise to an example, with random numbers that depend on neither order nor process."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from regard.errors import InputError, Unsupported, phrase
from regard.measures.keyed_random import Stream, keyed_streams
from regard.records import Example, Perturbed, Spec
from regard.registry import arguments, entry, find, names

SEVERITIES = (1, 2, 3, 4, 5)
ENTRIES = {
    "text": ("text",),
    "image": ("image",),
    "audio": ("audio", "series"),
    "series": ("series",),
    "table": ("row",),
}
"""Modality of a noise -> the entries of `Example.inputs` that it can be put on."""
USUAL = {
    "text": (
        "keyboard",
        "drop_words",
        "filler",
        "ocr",
        "swap_letters",
        "homoglyphs",
        "letter_case",
        "whitespace",
        "punctuation",
        "word_order",
        "drop_letters",
        "insert_letters",
        "repeat_letters",
        "neutral_suffix",
        "diacritics",
    ),
    "image": ("gaussian_noise", "gaussian_blur", "brightness", "contrast", "pixelate", "jpeg", "fog", "motion_blur"),
    "audio": ("audio_noise", "clipping", "audio_dropout", "gain", "band_limit", "audio_shift"),
    "series": ("jitter", "series_dropout", "drift", "spikes", "scaling", "time_warp", "quantisation"),
    "table": ("missing_values", "column_noise", "rounding"),
}
"""Noises by modality, those first that are unlike each other; what is not here follows by name."""

Perturber = Callable[[Example, int], Perturbed]


def modality_of(example: Example) -> str:
    """Return the modality of an example by its inputs; "" if unknown."""
    return next((m for m, entries in ENTRIES.items() if entries[0] in example.inputs), "")


def noises(modality: str) -> list[Spec]:
    """List the noises for a modality that need neither a model nor a file of the user's."""
    specs = []
    for name in names("perturbation"):
        facts = entry("perturbation", name).facts
        if facts["modality"] == modality and not {"model", "file"} & set(typing.cast("list[str]", facts["needs"])):
            specs.append(Spec("perturbation", name))
    return specs


def stream_of(noise: str, severity: int, seed: int) -> Callable[[str], Stream]:
    """Return the random numbers of an example id under a noise."""
    return keyed_streams(seed, "perturbation", noise, severity)


def perturber(spec: Spec, seed: int = 0, model: Any = None) -> Perturber:
    """Return the noise of a Spec as a function of (example, severity), validated once for many examples.

    model: the source of words for noises that need one.
    """
    facts = entry("perturbation", spec.name).facts
    bound, function = arguments(Spec("perturbation", spec.name, spec.params)), find("perturbation", spec.name)
    entries = ENTRIES[str(facts["modality"])]
    needs = facts["needs"]
    more: tuple[Any, ...] = ()
    if isinstance(needs, list) and "model" in needs:
        if model is None:
            remedy = phrase("errors.perturbations.model_model_in_python_model")
            expected = phrase("errors.perturbations.model_with_words")
            raise Unsupported(
                phrase("errors.perturbations.perturbation_spec", spec=spec.name),
                expected=expected,
                got=phrase("errors.common.none"),
                remedy=remedy,
            )
        more = (model,)

    # parameters are no part of the key: one noise with two settings is compared on the same draws
    streams = [stream_of(spec.name, severity, seed) for severity in SEVERITIES]

    def put_on(example: Example, severity: int) -> Perturbed:
        if severity not in SEVERITIES:
            raise InputError(
                phrase("errors.perturbations.perturbation_spec", spec=spec.name),
                expected=phrase("errors.perturbations.severity"),
                got=repr(severity),
            )
        if entries[0] not in example.inputs and entries[-1] not in example.inputs:
            remedy = phrase(
                "errors.perturbations.noise_for_regard_list_perturbation",
                example=modality_of(example) or phrase("errors.perturbations.this_input"),
            )
            subject = phrase("errors.perturbations.perturbation_example", spec=spec.name, example=repr(example.id))
            problem = phrase("errors.common.inputs_all_inputs", all_inputs=", ".join(sorted(example.inputs)))
            raise Unsupported(
                subject,
                expected=phrase("errors.common.input_entries", entries=" or ".join(entries)),
                got=problem,
                remedy=remedy,
            )
        perturbed: Perturbed = function(example, severity, streams[severity - 1](example.id), *more, **bound)
        return perturbed

    return put_on


def perturbed(example: Example, spec: Spec, severity: int, seed: int = 0, model: Any = None) -> Perturbed:
    """Apply one noise to one example; id, label, group and parent stay.

    >>> made = perturbed(Example("a", {"text": "a quiet film"}), Spec("perturbation", "keyboard"), 1)
    >>> made.example.inputs["text"], made.origin.tolist()
    ('a qiiet film', [0, 1, 2])
    """
    return perturber(spec, seed, model)(example, severity)
