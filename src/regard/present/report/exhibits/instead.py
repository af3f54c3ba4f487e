"""Show this instead: the method that the verdict names, and its advantage over attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.audits.conclusions.faithfulness import Faithfulness
from regard.measures.intervals import Interval
from regard.present.run_reader import Material

RULE = "Q11"
"""Rule of the judge that compares methods."""
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Instead:
    """Verdict about methods. method: the recommended one, "" if none is better than attention.

    ties: methods that cannot be distinguished from it. gain: effect of its units minus that of attention's, at the
    level of the whole verdict, over n examples.
    """

    verdict: Mapping[str, Any]
    method: str = ""
    gain: Interval | None = None
    n: int = 0
    operators: str = ""
    means: Faithfulness | None = None
    ties: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """Methods that the judge compared, attention among them."""
        return len(self.verdict["rows"])


def instead(material: Material) -> Instead | None:
    """Find the recommendation; None if the judge compared no methods."""
    judgements = material.manifest.get("judgements") or ()
    verdicts = [(j, v) for j in judgements for v in j["verdicts"] if str(v["rule"]).startswith(RULE) and v["rows"]]
    if not verdicts:
        return None
    judgement, verdict = verdicts[0]
    contrast = next(iter(verdict["contrasts"][1:2] if verdict["answer"] == "holds" else ()), None)
    method = "" if contrast is None else _subject(contrast, verdict["rows"])
    # the same correction as in the sentence of the judge
    if contrast is None or not method or contrast["p"] is None or contrast["p"] * len(verdict["rows"]) >= LEVEL:
        return Instead(verdict)
    return Instead(
        verdict=verdict,
        method=method,
        gain=Interval(contrast["estimate"], contrast["low"], contrast["high"], contrast["level"]),
        n=contrast["n"],
        operators=str(contrast["where"].get("operator", "")),
        ties=_ties(judgement, method),
        means=next((row for row in material.conclusions.faithfulness if row.method == method), None),
    )


def _ties(judgement: Mapping[str, Any], method: str) -> tuple[str, ...]:
    """Methods that the judge cannot distinguish from the recommended one."""
    graded = judgement.get("graded") or {}
    return tuple(map(str, graded["ties"])) if graded.get("show") == method else ()


def _subject(contrast: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Compared method; a run without subjects names it in its rows, by its lead over attention."""
    leads = {str(row["method"]): row.get("above attention") for row in rows}
    same = (m for m, lead in leads.items() if lead is not None and abs(lead - contrast["estimate"]) < 1e-4)
    return str(contrast.get("subject") or next(same, ""))
