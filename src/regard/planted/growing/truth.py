"""Truth table: the correct verdicts for every planted model, from `truth.toml` and the certificates."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from regard.records import Json, Message, Spec, Text

QUESTIONS = ("map", "matter", "points", "agree", "exclusive", "same")
LATER = ("points", "agree", "exclusive", "same")
TIDY = ("agree", "exclusive")
"""Questions fixed by construction only if no other word carries information."""
EARLIER = "earlier"
ACCURATE = 0.9
NEEDED = 0.05
POINTING, AWAY, PARTLY = 0.8, 0.3, (0.4, 0.7)
MOVES, STAYS, BETWEEN = 0.08, 0.012, 0.05


@dataclass(frozen=True, slots=True)
class Stand:
    """A planted model of one half of the zoo, and the audited head (None: all heads)."""

    half: str
    name: str
    params: Mapping[str, Json]
    head: int | None

    @property
    def spec(self) -> Spec:
        return Spec("planted", self.name, self.params)

    @property
    def kind(self) -> str:
        """Name of the new element of the construction; `EARLIER` for those of the first zoo."""
        return str(table()[self.name].get("kind", EARLIER))

    @property
    def key(self) -> str:
        """Name on the command line.

        >>> Stand("dev", "guided", {"size": "s", "seed": 0}, None).key
        'planted:guided:size=s,seed=0'
        """
        params = ",".join(f"{k}={v}" for k, v in self.params.items())
        return f"planted:{self.name}" + (f":{params}" if params else "")


@dataclass(frozen=True, slots=True)
class Truth:
    """Question -> holds, fails, mixed, uninformative or open. silenced: questions skipped after an earlier failure.

    readings: the correct readings; empty if open. left_out: reason why the model differs from its construction.
    """

    cells: Mapping[str, str]
    silenced: frozenset[str]
    readings: tuple[str, ...]
    left_out: Text = ""


@cache
def table() -> Mapping[str, Any]:
    text = importlib.resources.files("regard.planted").joinpath("truth.toml").read_text("utf-8")
    return tomllib.loads(text)


def zoo(half: str) -> list[Stand]:
    """Return every model of one half, "dev" or "sealed", in table order."""
    stands: Mapping[str, Any] = table()["halves"][half]
    return [
        Stand(half, name, dict(params), table()[name].get("head")) for name, some in stands.items() for params in some
    ]


def truth_of(name: str, certificate: Mapping[str, Any] | None) -> Truth:
    """Correct verdicts for a construction with this certificate (None: set by hand)."""
    table_cells = {q: str(table()[name][q][0]) if q in table()[name] else "uninformative" for q in QUESTIONS}
    readings = str(table()[name]["reading"][0])
    certified_cells = certified(certificate) if certificate is not None else {}
    left_out = _unlike(table_cells, certified_cells, certificate)
    cells = {q: certified_cells.get(q, "open") if said == "certificate" else said for q, said in table_cells.items()}
    for q in ("points", "matter"):  # what the certificate cannot confirm is not scored
        if (
            certified_cells.get(q) == "open"
            and cells[q] in ("holds", "fails", "mixed")
            and (q == "points" or _passes(certified_cells))
        ):
            cells[q] = "open"
    if certificate is not None and certificate.get("rough"):
        cells |= dict.fromkeys(TIDY, "open")
    silenced: frozenset[str] = frozenset()
    if cells["map"] == "fails":
        silenced = frozenset(("matter", *LATER))
    elif cells["matter"] == "fails":
        silenced = frozenset(LATER)
    cells |= dict.fromkeys(silenced, "uninformative")
    return Truth(cells, silenced, _readings(readings, cells), left_out)


def certified(certificate: Mapping[str, Any]) -> dict[str, str]:
    """Verdicts implied by the certificate; see [certificate] in truth.toml."""
    kinds = [_kind(c) for c in certificate["classes"].values()]
    decisive = [k for k in kinds if k != "default"]
    points = same = matter = "open"
    if decisive and all(k == decisive[0] for k in decisive):
        points = {"pointing": "holds", "away": "fails", "partly": "mixed"}.get(decisive[0], "open")
    elif sorted(set(decisive)) == ["away", "pointing"]:
        points = "mixed"
    parts = {_kind(facts) for facts in certificate.get("parts", {}).values()}
    if parts == {"pointing", "away"}:
        points = "mixed"
    if "default" in kinds:
        same = "uninformative"
    elif set(kinds) in ({"pointing"}, {"away"}):
        same = "holds"
    elif set(kinds) == {"pointing", "away"}:
        same = "fails"
    distance, flips = certificate.get("permuted"), certificate.get("flips")
    if distance is None or flips is None:
        return {"points": points, "same": same}
    if distance >= MOVES:
        matter = "holds"
    elif distance <= STAYS and flips <= STAYS:
        matter = "fails"
    return {"points": points, "same": same, "matter": matter}


def _kind(facts: Mapping[str, Any]) -> str:
    if not facts["n"] or facts["need"] < NEEDED:
        return "default"
    if facts["hit"] is None:
        return "unclear"
    hit, mass, top = float(facts["hit"]), float(facts["mass"]), float(facts["top"])
    if max(hit, mass) >= POINTING and top >= POINTING:
        return "pointing"
    if max(hit, mass, top) <= AWAY:
        return "away"
    return "partly" if PARTLY[0] <= min(hit, mass) and max(hit, mass) <= PARTLY[1] else "unclear"


def _passes(cells: Mapping[str, str]) -> bool:
    return "matter" in cells


def _unlike(
    table_cells: Mapping[str, str], certified_cells: Mapping[str, str], certificate: Mapping[str, Any] | None
) -> Text:
    """Explain why a planted model differs from its construction; "" if it does not."""
    if certificate is None:
        return ""
    if table_cells["map"] != "fails" and certificate["accuracy"] < ACCURATE:
        return Message.of("planted_unlike.accuracy", accuracy=certificate["accuracy"])
    for q in ("points", "matter"):
        stated, is_ = table_cells[q], certified_cells.get(q, "open")
        if stated in ("holds", "fails", "mixed") and is_ != "open" and is_ != stated:
            return Message.of("planted_unlike.cell", question=q, stated=stated, certified=is_)
    return ""


def _readings(stated: str, cells: Mapping[str, str]) -> tuple[str, ...]:
    if "fails" in (cells["map"], cells["matter"]):
        return ("nothing to read",)
    if stated != "certificate":
        readings = tuple(part.strip() for part in stated.split("|"))
        # what was written takes for granted that it matters and points as written
        return readings if len(readings) > 1 or "open" not in (cells["matter"], cells["points"]) else ()
    matter, points = cells["matter"], cells["points"]
    if points == "fails":
        return ("do not read",) if matter == "holds" else ("do not read", "nothing to read")
    if matter != "holds":
        return ()
    return {"holds": ("read as evidence",), "mixed": ("debugging only",)}.get(points, ())
