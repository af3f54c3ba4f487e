"""Preconditions: defects that make an attention map meaningless, checked before one is shown.

    preconditions("planted:one_key", ["a superb boat", "the door was awful"]).defects

Nothing is taken from names or from the code: examples are run, a second time with half of their units replaced, and
with edited weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from regard.cards import Card, HasCard
from regard.desk.encoding import encoded_once
from regard.desk.finite_answers import unknown
from regard.errors import CaptureError, RegardError, Unsupported, error_message, phrase
from regard.measures.degenerate import LIMIT, constant_gap, uniform_gap
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.encoder_decoder import encoder_decoder
from regard.models.ask.unknown_units import unknown_units
from regard.protocols import Encoded, Model, SiteAttention, Target
from regard.records import Answers, Edit, Example, Json, Message, Site, Text
from regard.records import encoded as as_json
from regard.registry import upstairs

What = Literal["one_key", "uniform", "constant", "unused"]

LOOKED_AT: Final = 8
"""Maximum number of examples to examine, evenly spread over the input."""
UNMOVED: Final = 1e-6
"""Answers (log-odds and probabilities) that differ by less count as equal."""
_CLEARLY: Final = 1e-3
_ROWS: Final = 64


@dataclass(frozen=True, slots=True)
class Defect:
    """Defect of the attention of a site, or of some of its heads (None: all of them).

    n: examples that show it. measured, limit: the largest measured gap, and the largest gap that counts as none.
    """

    what: What
    site: str
    heads: tuple[int, ...] | None
    n: int
    measured: float
    limit: float

    @property
    def sentence(self) -> Message:
        """
        >>> Defect("one_key", "attention", None, 8, 0.0, 0.0).sentence.key
        'defect.all'
        """
        params: dict[str, Any] = {
            "site": self.site,
            "defect": Message(f"defect.{self.what}"),
            "n": Message.of(f"count.example.{'one' if self.n == 1 else 'many'}", n=self.n),
            "gap": Message.of("defect.gap", measured=self.measured) if self.what != "one_key" else "",
        }
        if self.heads is None:
            return Message("defect.all", params)
        return Message("defect.heads", {**params, "heads": list(self.heads)})

    def to_json(self) -> dict[str, Json]:
        heads: Json = None if self.heads is None else list(self.heads)
        return {
            "what": self.what,
            "site": self.site,
            "heads": heads,
            "n": self.n,
            "measured": self.measured,
            "limit": self.limit,
            "sentence": self.sentence.to_json(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Preconditions(HasCard):
    """Defects in the attention of `n` examples at `sites` sites; `notes` list the checks that could not run."""

    n: int
    sites: int
    defects: tuple[Defect, ...]
    notes: tuple[Text, ...] = ()

    def _card(self) -> Card:
        facts = {"examples": self.n, "sites": self.sites, "defects": len(self.defects)}
        return Card("Preconditions", "", facts, [{"defect": sentence} for sentence in self.sentences()])

    def sentences(self) -> list[str]:
        """The defects in the language of the session."""
        return [upstairs("render")(defect.sentence) for defect in self.defects]

    def to_json(self) -> dict[str, Json]:
        defects: list[Json] = [d.to_json() for d in self.defects]
        return {"n": self.n, "sites": self.sites, "defects": defects, "notes": as_json(self.notes)}


def preconditions(model: str | Model, inputs: Any, *, seed: int = 0) -> Preconditions:
    """Every defect of the attention of `model` on `inputs`: what `regard.capture` takes, or a data set.

    Four are checked at every site: one key (its weight is always 1), uniform weights, weights that are the same for
    every input of one length, weights that nothing downstream reads. At most eight inputs are examined.
    """
    from regard.models.capture import as_examples
    from regard.models.open.load import load

    live = load(model)
    examples = list(inputs) if isinstance(inputs, Iterable) and _are_examples(inputs) else as_examples(live, inputs)
    return examine(live, [w for example in spread(examples) for w in live.windows(example)[:1]], seed=seed)


def _are_examples(inputs: Any) -> bool:
    return not isinstance(inputs, str | tuple | np.ndarray) and all(isinstance(e, Example) for e in inputs)


def spread(examples: Sequence[Example]) -> list[Example]:
    """Choose at most `LOOKED_AT` examples, spread from the first to the last."""
    places = np.linspace(0, len(examples) - 1, min(len(examples), LOOKED_AT)).round().astype(int)
    return [examples[int(i)] for i in dict.fromkeys(places.tolist())] if len(examples) else []


_Read = tuple[Encoded, Target, Answers]
"""An example, its target, and the answer of the unmodified model."""


@dataclass(slots=True, eq=False)
class _Seen:
    """Statistics of one site over all examples: keys, and the gaps by head."""

    site: Site
    keys: list[int] = field(default_factory=list)
    uniform: list[NDArray[np.float64]] = field(default_factory=list)
    constant: list[NDArray[np.float64]] = field(default_factory=list)


def examine(
    model: Model,
    examples: Sequence[Example],
    *,
    seed: int = 0,
    known: Mapping[str, tuple[Target, Answers]] | None = None,
) -> Preconditions:
    """Examine all of these examples, which must be readable as they are.

    known: answers of the unmodified model by id; the others are computed.
    """
    base_answers = known or {}
    sites: dict[str, _Seen] = {}
    read: list[_Read] = []
    for example in examples:
        try:
            encoded = encoded_once(model, example)
            if _says_nothing(model, encoded):
                continue
            target, plain = base_answers[example.id] if example.id in base_answers else _asked(model, encoded)
            if np.isnan(_change(plain, plain)):  # no number: nothing follows from its not changing
                continue
            _look(model, encoded, target, sites, keyed_rng(seed, example.id, "preconditions"))
        except CaptureError:  # about the model, not about this example
            raise
        except Unsupported as refusal:
            return Preconditions(0, 0, (), (str(refusal),))
        except RegardError:  # an example that cannot be read is reported where it is counted
            continue
        read.append((encoded, target, plain))
    if not read:
        return Preconditions(0, 0, (), (Message("defect.nothing_tested"),))
    defects: list[Defect] = []
    notes: list[Text] = []
    for look in sites.values():
        defects += _of_weights(look, decoder=encoder_decoder(model))
        try:
            change = _moved(model, read, look.site)
            if np.isnan(change):
                raise unknown(phrase("errors.audits.answer_under_changed_attention", model=model.name), 1, len(read))
        except RegardError as refusal:
            notes.append(Message.of("defect.untested", site=look.site.key, why=str(refusal)))
            continue
        if change <= UNMOVED:
            defects.append(
                Defect(what="unused", site=look.site.key, heads=None, n=len(read), measured=change, limit=UNMOVED)
            )
    return Preconditions(len(read), len(sites), tuple(defects), tuple(notes))


def _asked(model: Model, encoded: Encoded) -> tuple[Target, Answers]:
    plain, (target,) = model.predict([encoded])
    return target, plain


def _says_nothing(model: Model, encoded: Encoded) -> bool:
    """Return whether equal weights are legitimate: a single unit, or units that look identical to the model."""
    units = encoded.units
    names = {name for name, free in zip(units.names, units.free, strict=True) if free}
    return int(units.free.sum()) - unknown_units(model, encoded) < 2 or len(names) < 2


def _look(model: Model, encoded: Encoded, target: Target, seen: dict[str, _Seen], rng: np.random.Generator) -> None:
    sites = model.capture([encoded], [target]).sites
    twin = _twin(model, encoded, rng)
    others = {s.site.key: s for s in model.capture([twin], [target]).sites} if twin is not None else {}
    for site in sites:
        here = seen.setdefault(site.site.key, _Seen(site.site))
        here.keys.append(site.shape[3])
        weights = _some_rows(site)
        here.uniform.append(uniform_gap(weights))
        other = others.get(site.site.key)
        if other is not None and other.shape == site.shape:
            here.constant.append(constant_gap(weights, _some_rows(other)))


def _twin(model: Model, encoded: Encoded, rng: np.random.Generator) -> Encoded | None:
    """Return another input of the same length, with every second unit replaced at random."""
    if "resample" not in model.operators:
        return None
    drop = np.zeros(len(encoded.units), np.bool_)
    drop[np.flatnonzero(encoded.units.free)[::2]] = True
    twin = model.remove(encoded, drop, "resample", rng)
    return twin if twin.length == encoded.length else None


def _some_rows(site: SiteAttention) -> NDArray[np.float32]:
    """(head, query, key): all rows, or some evenly spread."""
    queries = site.shape[2]
    rows = site.rows(0, sorted({round(q) for q in np.linspace(0, queries - 1, min(queries, _ROWS))}))
    if not np.isfinite(rows).all():
        raise unknown(phrase("errors.common.attention_site", site=site.site.key), 1, 1)
    return rows


def _of_weights(found: _Seen, *, decoder: bool) -> list[Defect]:
    """Return the defects visible in the weights alone; skip one that follows from another."""
    key = found.site.key
    if max(found.keys) == 1:
        first_token = decoder and found.site.kind not in ("cross", "pooling")
        # a decoder that has written nothing yet has one key rightly
        return (
            []
            if first_token
            else [Defect(what="one_key", site=key, heads=None, n=len(found.keys), measured=0.0, limit=0.0)]
        )
    flat = _worst(found.uniform)
    fixed = _worst(found.constant)
    if fixed is not None and flat is not None:
        fixed = np.where(flat <= LIMIT, np.nan, fixed)
    defects: list[Defect] = []
    checks: tuple[tuple[What, Any, int], ...] = (
        ("uniform", flat, len(found.uniform)),
        ("constant", fixed, len(found.constant)),
    )
    for what, gaps, n in checks:
        heads = np.flatnonzero(gaps <= LIMIT) if gaps is not None else np.zeros(0, int)
        if len(heads):
            which = None if len(heads) == len(gaps) else tuple(map(int, heads))
            defects.append(
                Defect(what=what, site=key, heads=which, n=n, measured=float(gaps[heads].max()), limit=LIMIT)
            )
    return defects


def _worst(gaps: list[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """(head,): the largest gap of any example; NaN if no example is informative."""
    if not gaps:
        return None
    table = np.stack(gaps)
    worst: NDArray[np.float64] = np.where(np.isnan(table), -np.inf, table).max(0)
    return np.where(np.isfinite(worst), worst, np.nan)


def _moved(model: Model, read: Sequence[_Read], site: Site) -> float:
    """The largest change of any answer when the weights of a site are zeroed, made equal or shuffled; NaN if unknown.

    The first clear change ends the search, so a site that is used costs one or two passes. An answer that is not finite
    is no evidence either way.
    """
    largest = 0.0
    for encoded, target, plain in read:
        for what in ("mask_heads", "uniform", "permute"):
            edited = model.forward([encoded], [target], [Edit(what, site=site.key)])
            step = _change(edited, plain)
            if np.isnan(step):
                largest = step
                continue
            if step > _CLEARLY:
                return step
            if step > 0:
                # the edited pass may round differently: compared with one in which the same site is edited to itself
                same = model.forward([encoded], [target], [Edit("scale", site=site.key, factor=1.0)])
                step = _change(edited, same)
            if step > UNMOVED:
                return step
            largest = float(np.max([largest, step]))  # NaN once one of them is
    return largest


def _change(one: Answers, other: Answers) -> float:
    """Return the change of the objective, or of any probability; NaN where an answer is not finite."""
    steps = [np.abs(one.value - other.value).max()]
    if one.distribution is not None and other.distribution is not None:
        steps.append(np.abs(one.distribution - other.distribution).max())
    step = float(np.max(steps))
    return step if np.isfinite(step) else np.nan


def of_run(model: Model, examples: Sequence[Example], rows: Iterable[Mapping[str, Any]], *, seed: int) -> Preconditions:
    """Check some examples of a run and return the record to store; a failure of this check does not end the audit.

    rows: stored facts about each example (`Run.examples`); unreadable examples are skipped, and stored answers of the
    unmodified model are reused.
    """
    base_answers = {str(row["id"]): (row["target"], _answer(row)) for row in rows if row["units"] is not None}
    try:
        return examine(model, spread([e for e in examples if e.id in base_answers]), seed=seed, known=base_answers)
    except Exception as error:  # a bad example is reported where it is counted
        return Preconditions(0, 0, (), (Message.of("defect.not_tested", error=error_message(error)),))


def _answer(row: Mapping[str, Any]) -> Answers:
    spread_out = None if row["distribution"] is None else np.asarray([row["distribution"]], np.float64)
    value, probability = (np.asarray([row[name]], np.float64) for name in ("value", "probability"))
    return Answers(np.array([0, 1]), value, probability, spread_out)
