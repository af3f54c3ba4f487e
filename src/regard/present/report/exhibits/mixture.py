"""Right here, wrong there: one example of each kind, if the judge established two kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.audits.conclusions.example_trust import TrustOfExample
from regard.present.run_reader import Material

QUESTION = "mixture"
ESTABLISHED = ("fails", "mixed")


@dataclass(frozen=True, slots=True)
class MixtureExhibit:
    """The verdict, and the clearest example of each kind."""

    verdict: Mapping[str, Any]
    right: TrustOfExample
    wrong: TrustOfExample


def mixture(material: Material) -> MixtureExhibit | None:
    """Find the examples; None if two kinds of inputs are not established, or if their examples are not in the run."""
    judgements = material.manifest.get("judgements") or ()
    verdicts = [v for v in (judgements[0]["verdicts"] if judgements else ()) if v["question"] == QUESTION]
    if not verdicts or verdicts[0]["answer"] not in ESTABLISHED:
        return None
    trust = {row.example: row for row in material.conclusions.trust_of_examples}
    clearest: dict[str, TrustOfExample] = {}
    for row in verdicts[0]["rows"]:
        name = row.get("example")
        if name in trust and name in material.by_id:
            clearest.setdefault(str(row.get("here")), trust[name])
    if not {"right", "wrong"} <= set(clearest):
        return None
    return MixtureExhibit(verdicts[0], clearest["right"], clearest["wrong"])
