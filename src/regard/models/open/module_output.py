"""Choice of a module's prediction among its outputs, and its check against the task and the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from torch import Tensor

from regard.errors import InputError, UnknownName, phrase

_OWN_NAMES = {"question_answering": ("start_logits", "end_logits"), "similarity": ("sentence_embedding",)}
_LIKE_CLASSES = ("classification", "multi_label")


@dataclass(frozen=True, slots=True)
class OutputChoice:
    """Select the prediction among the outputs of a module; every refusal shows the line to add."""

    task: str
    labels: tuple[str, ...]
    output: str | int | None = None

    def __call__(self, raw: Any, rows: int) -> Any:
        """Return the outputs under the names that the task reads."""
        tensors = _by_name(raw)
        if self.output is not None:
            name = str(self.output)
            if name not in tensors:
                raise UnknownName(phrase("errors.models.output_module"), name, tensors)
            return self._checked(tensors[name], rows)
        names = _OWN_NAMES.get(self.task, ("logits",))
        if all(name in tensors for name in names):
            return self._checked(tensors["logits"], rows) if names == ("logits",) else tensors
        fitting = [name for name, tensor in tensors.items() if self._fits(tensor, rows)]
        if not isinstance(raw, Mapping) and not is_dataclass(raw):
            fitting = fitting[:1]  # a tuple begins with its prediction
        if len(fitting) != 1:
            shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
            example = next(iter(fitting or tensors), "logits")
            raise InputError(
                phrase("errors.models.output_module"),
                expected=phrase("errors.models.one_output_rows", rows=rows),
                got=shapes or phrase("errors.models.no_tensor_at_all"),
                remedy=phrase("errors.models.regard_wrap_module_encode_output", example=repr(example)),
            )
        return self._checked(tensors[fitting[0]], rows)

    def _fits(self, tensor: Tensor, rows: int) -> bool:
        return tensor.ndim > 0 and len(tensor) == rows and tensor.is_floating_point()

    def _checked(self, tensor: Tensor, rows: int) -> dict[str, Tensor]:
        if self.task == "similarity":
            return {"sentence_embedding" if tensor.ndim == 2 else "last_hidden_state": tensor}
        if self.task in _LIKE_CLASSES and len(tensor) == rows:
            tensor = tensor[:, None] if tensor.ndim == 1 else tensor
            self._check_classes(tensor)
        return {"logits": tensor}

    def _check_classes(self, tensor: Tensor) -> None:
        count = tensor.shape[-1]
        if count == 1 and not self.labels and self.task == "classification":
            raise InputError(
                phrase("errors.models.output_module"),
                expected=phrase("errors.models.what_one_number_means"),
                got=phrase("errors.models.shape_and_no_labels", shape=tuple(tensor.shape)),
                remedy=phrase("errors.models.regard_wrap_module_encode_task"),
            )
        if self.labels and tensor.ndim == 2 and len(self.labels) != (2 if count == 1 else count):
            line = ", ".join(repr(label) for label in self.labels[:count])
            raise InputError(
                "labels",
                expected=phrase("errors.models.names_many_module_outputs", value=2 if count == 1 else count),
                got=f"{len(self.labels)}: {', '.join(self.labels)}",
                remedy=f"regard.wrap(module, encode, labels=[{line}, ...])",
            )


def _by_name(raw: Any) -> dict[str, Tensor]:
    """Tensors of an output by name or number, without scalars, which are losses."""
    if isinstance(raw, Tensor):
        return {"logits": raw}
    return {name: part for name, part in output_tensors(raw).items() if part.ndim > 0}


def output_tensors(raw: Any) -> dict[str, Tensor]:
    """Return the tensors of a tuple, mapping or dataclass by name or number."""
    if is_dataclass(raw) and not isinstance(raw, Mapping):
        raw = {item.name: getattr(raw, item.name) for item in fields(raw)}
    if not isinstance(raw, Mapping | tuple | list):
        raise InputError(
            phrase("errors.models.output_module"),
            expected=phrase("errors.models.tensor_tuple_mapping_or_dataclass"),
            got=type(raw).__name__,
        )
    pairs = raw.items() if isinstance(raw, Mapping) else ((str(i), part) for i, part in enumerate(raw))
    return {str(name): part for name, part in pairs if isinstance(part, Tensor)}


_ALIASES = {"prediction_logits": "logits", "prediction_outputs": "logits", "0": "logits"}


class _Named(dict[str, Tensor]):
    """Outputs of a module by name; a missing name is an input error."""

    def __missing__(self, name: str) -> Tensor:
        raise InputError(
            phrase("errors.models.output_module"),
            expected=phrase("errors.models.tensor_named", name=repr(name)),
            got=", ".join(f"{k} {tuple(v.shape)}" for k, v in self.items()) or phrase("errors.models.no_tensor_at_all"),
            remedy=phrase("errors.models.return_tensor_itself_tuple", name=repr(name)),
        )


def named_outputs(raw: Any) -> dict[str, Tensor]:
    """Return the outputs of a module by name; a single tensor is `logits`."""
    if isinstance(raw, Tensor):
        return {"logits": raw}
    return _Named({_ALIASES.get(name, name): part for name, part in output_tensors(raw).items()})
