"""A model under another task: the same network and reader with another objective."""

from __future__ import annotations

from collections.abc import Sequence

from regard.models.adapter import TorchModel
from regard.models.tasks import TaskRow
from regard.records import Spec


class OtherTask(TorchModel):
    """The network of `model` under `task`; its Spec names the task, so that workers reopen it alike."""

    def __init__(self, model: TorchModel, task: TaskRow, *, labels: Sequence[str] = ()) -> None:
        spec = model.spec
        super().__init__(
            model.module,
            model.reader,
            task,
            name=model.name,
            labels=labels,
            device=str(model.device),
            traits=model.traits,
            embedding=model.embedding,
            call=model.call,
            spec=None if spec is None else Spec(spec.kind, spec.name, {**spec.params, "task": task.name}),
            notes=[note for note in model.notes if note not in model.reader.notes()],
        )
