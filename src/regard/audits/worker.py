"""Entry points of a worker: `open_model` once per worker, `do_shard` for every task. JSON in."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from regard.audits.named_function import named_function
from regard.audits.shard import PREDICTIONS, Settings, compute, predict
from regard.desk.encoding import forget_encoded
from regard.protocols import Model
from regard.records import Example, Json, Spec
from regard.store.example_json import example_from_json
from regard.store.shard_result import ShardResult, relevance_from_json
from regard.tap.pass_history import forget_passes

SETUP = "regard.audits.worker:open_model"
WORK = "regard.audits.worker:do_shard"
LIGHT = ("id", "predicted", "target", "probability", "length")
"""Fields of a prediction that a pass over every row keeps."""
EVERY_ROW = "every row"
"""The stage of a pass over every row (see `every_row`)."""


def open_model(payload: Mapping[str, Any]) -> Model:
    """Open the model of a Spec that the user named in this command, with a worker's share of the processor.

    The Spec of a stored run goes through `models.stored_model` first.
    """
    import torch

    torch.set_num_threads(int(payload["threads"]))
    spec = Spec.from_json(payload["model"])
    if spec.kind == "function":  # a model of somebody's own: "package.module:function"
        return cast("Model", named_function(spec.name)(**spec.params))
    from regard.models.open.load import rebuild

    if "code" in payload:
        spec = Spec(spec.kind, _with_code(spec.name, str(payload["code"])), spec.params)
    return rebuild(spec)


def _with_code(source: str, text: str) -> str:
    """Resolve `file.py:factory` on this machine: the same file if present, else a copy of the text that came along."""
    path, _, factory = source.rpartition(":")
    if Path(path).is_file() and Path(path).read_text("utf-8") == text:
        return source
    folder = Path(tempfile.mkdtemp(prefix="regard-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / Path(path).name).write_text(text, "utf-8")
    return f"{folder / Path(path).name}:{factory}"


def do_shard(model: Model, payload: Mapping[str, Any]) -> ShardResult:
    """Compute the page of one shard; its bytes do not depend on earlier work of this process."""
    forget_passes()
    examples = [example_from_json(value) for value in payload["examples"]]
    settings = Settings.from_json(payload["settings"])
    if payload.get("stage") == PREDICTIONS:
        return predict(model, examples, settings)
    if payload.get("stage") == EVERY_ROW:
        return _light_page(model, examples, settings)
    stored = payload.get("known")
    known = None if stored is None else {Spec.from_json(r["spec"]): relevance_from_json(r) for r in stored}
    return compute(model, examples, settings, keep=payload["keep"], walk=payload["walk"], known=known)


def _light_page(model: Model, examples: Sequence[Example], settings: Settings) -> ShardResult:
    """Predictions and scores of some rows, a long text as windows; without units, relevances and attention."""
    windows = [window for example in examples for window in _windows(model, example)]
    page = compute(model, windows, settings) if settings.explainers else predict(model, windows, settings)
    forget_encoded(model)
    answers: list[dict[str, Json]] = [
        {"length": 0, **{name: row[name] for name in LIGHT if name in row}} for row in (*page.rows, *page.predictions)
    ]
    return replace(page, rows=(), relevances=(), attentions={}, predictions=tuple(answers))


def _windows(model: Model, example: Example) -> list[Example]:
    try:
        return list(model.windows(example))
    except Exception:  # unreadable: reported when it is encoded
        return [example]
