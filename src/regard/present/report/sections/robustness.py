"""Do the predictions hold, and do the explanations? Under noise, under attack, and with certainty."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, tag
from regard.present.report.robustness.attacks import attacks
from regard.present.report.robustness.certificates import certificates
from regard.present.report.robustness.explanations import explanations
from regard.present.report.robustness.other_answers import other_answers
from regard.present.report.robustness.under_noise import under_noise
from regard.present.report.robustness.witnesses import witnesses
from regard.present.run_reader import Material

PARTS = (under_noise, other_answers, explanations, attacks, certificates, witnesses)


def robustness(material: Material) -> Html | None:
    """Every part that the run has evidence for; None without any."""
    parts = [part(material) for part in PARTS]
    if not any(parts):
        return None
    return join(tag("p", {"class": "soft"}, say("robustness.note")), *parts)
