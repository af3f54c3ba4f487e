"""Noise in the continuous inputs of an example: embeddings for text, the array itself for anything else.

The noise belongs to the units: one that is deleted or replaced takes its noise with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.protocols import Encoded


@capability(needs="gradient")
def add_noise(model: TorchModel, encoded: Encoded, noise: float, rng: np.random.Generator) -> tuple[Encoded, float]:
    """Add Gaussian noise to the free units; also return the norm of the change over the norm of the inputs.

    The standard deviation is `noise` times the root mean square of the free inputs.
    """
    item, reader = own(encoded), model.reader
    main = item.arrays[reader.main]
    free = np.append(item.units.free, False)[item.owner]  # owner -1 reads the appended False
    if reader.modality == "text":
        if model.embedding is None:
            raise Unsupported(
                phrase("errors.models.noise_in_inputs", model=model.name),
                expected=phrase("errors.models.input_embedding_module"),
                got=phrase("errors.common.none"),
                remedy=phrase("errors.models.name_wrap_embedding_path_module"),
            )
        with torch.no_grad():
            device = next((p.device for p in model.embedding.parameters()), torch.device("cpu"))
            x = model.embedding(torch.from_numpy(main)[None].to(device))[0].float().cpu().numpy()
        free = np.broadcast_to(free[:, None], x.shape)
    else:
        x = np.asarray(main, np.float32)
    inside = x[free]
    if not inside.size or not noise:
        return item, 0.0
    # not the range, as for SmoothGrad: embeddings have outliers, and 5 % of the range may be as large as the whole
    change = np.where(free, noise * float(np.sqrt(np.mean(inside**2))) * rng.standard_normal(x.shape), 0.0).astype(
        np.float32
    )
    size = float(np.linalg.norm(inside))
    displacement = float(np.linalg.norm(change)) / size if size else 0.0
    if reader.modality == "text":
        return replace(item, shift=change), displacement
    return replace(item, arrays={**item.arrays, reader.main: (x + change).astype(main.dtype)}), displacement
