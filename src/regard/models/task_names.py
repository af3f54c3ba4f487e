"""Names of the tasks, for command lines that must not import torch to list them."""

from __future__ import annotations

TASK_NAMES = (
    "classification",
    "multi_label",
    "regression",
    "token_classification",
    "question_answering",
    "next_token",
    "masked_token",
    "sequence_to_sequence",
    "written_token",
    "similarity",
    "image_classification",
    "object_detection",
    "audio_classification",
    "series_classification",
    "forecasting",
    "forecast_direction",
    "anomaly_score",
    "tabular_classification",
)
"""Task names in the order of `models.tasks.TASKS`."""
