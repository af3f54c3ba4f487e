"""`masked_twin`: a text classifier of `regard train`, trained again from masked texts too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.datasets.read import read
from regard.errors import InputError, RegardError, Text, Unsupported, phrase
from regard.records import Json, Spec
from regard.registry import method
from regard.training.train_named import trained_once

CONFIG = ("encoder", "attention", "size", "hidden", "dropout", "decision")
"""Settings of the network that its twin shares."""
SETTINGS = ("epochs", "batch_size", "rate", "patience", "weight_decay")


@method("source", data="", task="classification", modality="text", licence="that of the model", seconds=30)
def masked_twin(*, directory: str = "", masking: float = 0.5) -> str:
    """The twin of a text classifier in `directory` that also learned from masked texts (Madsen et al. 2024).

    Path of its checkpoint. Same network, data, settings and seed; masking: the share of the texts of a batch in which
    any share of the words is masked. Removal by masking is in distribution for it: audit it instead of the model, or
    use the operator finetuned_mask.
    """
    if not directory:
        raise InputError(
            "masked_twin.directory",
            expected=phrase("errors.sources.directory_that_regard_train"),
            got=phrase("errors.common.none"),
        )
    from regard.networks.checkpoint import load_checkpoint

    folder = Path(directory).expanduser()
    network, about = load_checkpoint(folder)
    facts: Any = about.get("training")
    if about["network"] != "attention_classifier" or not isinstance(facts, dict) or network.config["aspects"]:
        raise Unsupported(
            phrase("errors.sources.masked_twin", folder=folder),
            expected=phrase("errors.sources.text_classifier_by_regard_train"),
            got=str(about["network"]),
        )
    data, seed = str(facts["data"]), int(facts["settings"]["seed"])
    _same_data(folder, data, facts)
    params: dict[str, Json] = {key: network.config[key] for key in CONFIG}
    settings: dict[str, Json] = {key: facts["settings"][key] for key in SETTINGS if key in facts["settings"]}
    recipe: dict[str, Json] = {"version": 2, "learner": params, "data": str(facts["data_fingerprint"]), "seed": seed}
    return trained_once(
        "masked_twin",
        {**recipe, "settings": settings, "masking": masking},
        learner=Spec("learner", "classifier", {**params, "masking": masking}),
        data=data,
        packages=("torch",),
        settings=settings,
        n=int(facts["examples"]),
        seed=seed,
    )


def _same_data(folder: Path, data: str, facts: Any) -> None:
    """Refuse data that differ from the training data of the network."""
    problem: Text = phrase("errors.sources.other_data", data=data)
    try:
        whole = read(data, split="train", limit=None)
        if whole.fingerprint == facts["data_fingerprint"]:
            return
        if read(data, split="train", limit=int(facts["examples"])).fingerprint == facts["data_fingerprint"]:
            return
    except RegardError as error:
        problem = error.message
    raise Unsupported(
        phrase("errors.sources.masked_twin", folder=folder),
        expected=phrase("errors.sources.training_data"),
        got=problem,
    )
