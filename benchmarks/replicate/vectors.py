"""Pretrained word vectors without a download, in place of the published ones: the input vectors of MiniLM.

A word is the mean of its word pieces; all words of train, centred, turned to their first 300 principal directions, and
scaled to a standard deviation. Written as a text file, so that whoever has other vectors (fastText) can bring them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from benchmarks.replicate.models import SIZE
from regard.networks.vocabulary import Vocabulary
from regard.protocols import Dataset
from regard.sources.minilm import minilm_weights
from regard.training.inputs import text_of


def pretrained(train: Dataset, home: Path, scale: float) -> Path:
    """Return the file of the vectors, and write it if it is missing."""
    out = home / f"minilm-{scale:g}.txt"
    if out.is_file():
        return out
    weights = minilm_weights()
    pieces = load_file(weights)["embeddings.word_embeddings.weight"].astype(np.float64)
    tokenizer = Tokenizer.from_file(str(weights.parent / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    words = [w for w in Vocabulary.build(map(text_of, train), min_count=1).words if not w.startswith("<")]
    parts = [tokenizer.encode(word, add_special_tokens=False).ids for word in words]
    rows = np.stack([pieces[ids].mean(0) if ids else np.zeros(pieces.shape[1]) for ids in parts])
    rows -= rows.mean(0)
    rows = rows @ np.linalg.svd(rows, full_matrices=False)[2][:SIZE].T
    rows *= scale / rows.std()
    lines = (f"{word} {' '.join(f'{v:.5f}' for v in row)}" for word, row in zip(words, rows, strict=True))
    home.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n", "utf-8")
    part.replace(out)
    return out
