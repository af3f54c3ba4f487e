"""The twin of a model that learned from shuffled labels (Adebayo et al. 2018), where there is a recipe to train it."""

from __future__ import annotations

from regard.errors import Unsupported
from regard.protocols import Model
from regard.records import Spec
from regard.registry import entry, names

_TWINS: dict[tuple[Spec, str], Model] = {}


def shuffled_twin(model: Model) -> Model:
    """The same recipe with labels="shuffled", trained on first use and kept; Unsupported where there is none."""
    spec = None if model.spec is None else Spec.parse("source", model.spec.name)
    has_source = spec is not None and spec.name in names("source")
    trainable = has_source and spec is not None and "labels" in {p.name for p in entry("source", spec.name).parameters}
    if spec is None or model.spec is None or not trainable:
        raise Unsupported(
            f"shuffled labels for {model.name}",
            expected="a model by name whose recipe takes labels=shuffled",
            got="a model that is not trained here",
            remedy='change="head", which swaps the classes instead',
        )
    key = (model.spec, model.fingerprint)
    if key not in _TWINS:
        from regard.models.open.load import rebuild

        shuffled = Spec("source", spec.name, {**spec.params, "labels": "shuffled"})
        _TWINS[key] = rebuild(Spec("model", str(shuffled), model.spec.params))
    return _TWINS[key]
