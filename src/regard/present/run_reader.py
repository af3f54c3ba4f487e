"""The stored facts that a report shows, and how it names predictions."""

from __future__ import annotations

from typing import Any

from regard.audits.conclude import ConcludedRun
from regard.present.answer_text import shown_answer


class Material(ConcludedRun):
    """Everything a report shows, each part read from the run at most once."""

    @property
    def task(self) -> str:
        """Task of the model; "" if the run does not name it."""
        return str(self.manifest["model"].get("task") or "")

    def answer(self, value: Any) -> str:
        """Render a prediction: a class by its name, generated text in quotation marks."""
        return shown_answer(value, self.task) if isinstance(value, str) else self.label(value)
