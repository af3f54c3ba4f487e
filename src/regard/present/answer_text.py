"""Predictions as text: a class by its name, generated text in quotation marks."""

from __future__ import annotations

import json

from regard.records import Json

TEXTS = ("next_token", "masked_token", "sequence_to_sequence", "written_token", "question_answering", "answer")
"""Tasks whose answer is a text, in which spaces matter."""


def shown_answer(answer: Json, task: str) -> str:
    """An answer in words.

    >>> shown_answer(" Paris", "next_token"), shown_answer("positive", "classification")
    ('" Paris"', 'positive')
    """
    if isinstance(answer, str) and task in TEXTS:
        return json.dumps(answer, ensure_ascii=False)
    return str(answer)
