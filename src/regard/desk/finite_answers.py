"""Refuse NaN: no method computes with an answer, a gradient or a weight that is not a finite number.

The desk calls these functions on every model output. An error skips the example for the calling method, with the
reason; unknown values are never cached, so NaN never turns into 0, "not moved" or the first class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.protocols import Parts, PropagatedRelevance, Slopes, WeightSlopes, Zeroed
from regard.records import Answers

REMEDY = phrase("errors.desk.look_at_weights")
T = TypeVar("T")


def known(answers: Answers, name: str) -> Answers:
    """Return the answers unchanged; raise if one of them is not finite."""
    each = np.isfinite(answers.value) & np.isfinite(answers.probability)
    if answers.distribution is not None:
        each = each & np.isfinite(answers.distribution).all(-1)
    bad = int((~each).sum())
    if bad:
        raise unknown(phrase("errors.common.answer_name", name=name), bad, len(each))
    return answers


def known_slopes(slopes: Sequence[Slopes], name: str) -> Sequence[Slopes]:
    """Return the gradients unchanged; the ends of a path may be unknown if no point lies on it."""
    _refuse(phrase("errors.desk.gradient_name", name=name), ((s.dot, s.norm, s.value) for s in slopes))
    return slopes


def known_weight_slopes(slopes: Sequence[WeightSlopes], name: str) -> Sequence[WeightSlopes]:
    _refuse(phrase("errors.desk.attention_gradient", name=name), ((s.weights, s.gradient) for s in slopes))
    return slopes


def known_relevance(rows: Sequence[PropagatedRelevance], name: str) -> Sequence[PropagatedRelevance]:
    _refuse(phrase("errors.desk.relevance_name", name=name), ((row.units, row.special, row.value) for row in rows))
    return rows


def known_parts(parts: Sequence[Parts], name: str) -> Sequence[Parts]:
    _refuse(phrase("errors.desk.attention_output", name=name), ((p.weights, p.values, p.own, p.whole) for p in parts))
    return parts


def known_zeroed(outputs: Sequence[Zeroed], name: str) -> Sequence[Zeroed]:
    _refuse(phrase("errors.desk.layer_output", name=name), ((z.distance,) for z in outputs))
    return outputs


def known_arrays(arrays: list[T], name: str) -> list[T]:
    _refuse(phrase("errors.desk.gradient_name", name=name), ((a,) for a in arrays))
    return arrays


def known_tensor(tensor: Any, name: str) -> Any:
    """Return a torch tensor of answers unchanged; raise if it is not finite."""
    each = tensor.detach().isfinite()
    if not bool(each.all()):
        raise unknown(phrase("errors.common.answer_name", name=name), int((~each).sum()), int(each.numel()))
    return tensor


def known_logits(tensor: Any, name: str) -> Any:
    """Return logits unchanged or raise; a class may be excluded (-inf)."""
    logits = tensor.detach()
    bad = logits.isnan() | logits.isposinf()
    if bool(bad.any()):
        raise unknown(phrase("errors.common.answer_name", name=name), int(bad.sum()), int(bad.numel()))
    return tensor


class UnknownAnswer(InputError):
    """The model returned NaN or infinity."""


def unknown(subject: Text, bad: int, count: int) -> UnknownAnswer:
    return UnknownAnswer(
        subject,
        expected=phrase("errors.common.finite_numbers"),
        got=phrase("errors.desk.nan_or_infinite_ones_for_bad", bad=bad, n=count),
        remedy=REMEDY,
    )


def _refuse(subject: Text, rows: Iterable[Iterable[Any]]) -> None:
    fine = [all(bool(np.isfinite(array).all()) for array in row) for row in rows]
    if not all(fine):
        raise unknown(subject, fine.count(False), len(fine))
