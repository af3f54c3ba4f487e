"""`capture`: every attention of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.datasets.formats.sounds import wav_inputs
from regard.datasets.picture_decoder import decoded, pil_pixels
from regard.errors import InputError, UnknownName, phrase
from regard.models.adapter import TorchModel, own
from regard.models.dense_limit import refuse_dense
from regard.models.open.load import load
from regard.models.row_capture import capture_encoded_rows
from regard.protocols import Capture, Model
from regard.records import Check, Example, Mode
from regard.tap.row_collector import Rows

_ENTRIES = {"image": "image", "audio": "audio", "series": "series", "tabular": "row"}


def capture(
    model: str | Model, inputs: Any, mode: Mode = "qk", check: Check = "first", *, rows: Rows | None = None
) -> Capture:
    """Capture every attention of `model` on `inputs`, named by module path and call, with units and answers.

    inputs: a text, a pair of texts (tuple), an array, an `Example`, or a list of these (one batch); for models that
    read pictures also PIL images and paths of files, for those of sounds paths of .wav files. A text longer than the
    model becomes its windows, one row each. mode "qk" keeps queries and keys, "weights" the matrices. check: "first"
    verifies the capture once per model and shape, "always" every time, "never" not at all. rows: keep only these rows
    of every attention (a slice, positions, or "last"): memory no longer grows with the square of the input; `positions`
    of a site lists them. Without it, weights of more than 4 GiB are refused.
    """
    if mode not in ("qk", "weights"):
        raise UnknownName("mode", str(mode), ("qk", "weights"))
    if check not in ("first", "always", "never"):
        raise UnknownName("check", str(check), ("first", "always", "never"))
    live = load(model)
    examples = [window for example in as_examples(live, inputs) for window in live.windows(example)]
    batch = [live.encode(example) for example in examples]
    if rows is not None:
        if rows == "new":
            raise InputError(
                "rows",
                expected=phrase("errors.models.slice_positions_or_last"),
                got="'new'",
                remedy="capture_generation",
            )
        return capture_encoded_rows(live, batch, rows, check=check)
    if mode == "weights" and isinstance(live, TorchModel):
        longest = max(own(item).length for item in batch)
        refuse_dense(live.module, longest, remedy=phrase("errors.models.rows_last_or_rows_slice"))
    _, targets = live.predict(batch)
    return live.capture(batch, targets, mode=mode, check=check)


def as_examples(model: Model, inputs: Any) -> list[Example]:
    """Convert any input to examples; ids count from 0.

    >>> from types import SimpleNamespace
    >>> as_examples(SimpleNamespace(modality="text"), ["good", ("a question", "a passage")])[1].inputs["text_pair"]
    'a passage'
    """
    modality = model.modality
    many = list(inputs) if isinstance(inputs, list) and not _is_numbers(inputs, modality) else [inputs]
    if not many:
        raise InputError(
            "inputs", expected=phrase("errors.models.at_least_one_text_array"), got=phrase("errors.models.empty_list")
        )
    return [_example(given, i, modality) for i, given in enumerate(many)]


def _is_numbers(inputs: Sequence[Any], modality: str) -> bool:
    """Return whether a list is one row or series of numbers rather than many examples."""
    return modality != "text" and bool(inputs) and isinstance(inputs[0], (int, float))


def _example(given: Any, number: int, modality: str) -> Example:
    if isinstance(given, Example):
        return given
    if modality == "image" and isinstance(given, str | Path):
        path = Path(given)
        return Example(path.name, {"image": decoded(path, phrase("errors.common.picture_file", file=path))[0]})
    if modality == "audio" and isinstance(given, str | Path):
        return Example(Path(given).name, wav_inputs(Path(given)))
    if modality == "image" and hasattr(given, "convert"):
        return Example(str(number), {"image": pil_pixels(given, phrase("errors.common.input_number", number=number))})
    if modality != "text":
        return Example(str(number), {_ENTRIES[modality]: np.asarray(given)})
    if isinstance(given, str):
        return Example(str(number), {"text": given})
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(part, str) for part in given):
        return Example(str(number), {"text": given[0], "text_pair": given[1]})
    raise InputError(
        phrase("errors.common.input_number", number=number),
        expected=phrase("errors.models.text_pair_texts_or_example"),
        got=type(given).__name__,
    )
