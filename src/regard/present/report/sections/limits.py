"""Limits: untested properties, and conclusions that these numbers do not support."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, tag
from regard.present.report.sections.improvement import improvement
from regard.present.run_reader import Material
from regard.visible import shell_word

ALWAYS = ("removal", "agreement", "random", "only")


def limits(material: Material) -> Html | None:
    """The limits of this kind of audit, and of this run."""
    missing = untested(material)
    items = [tag("li", None, words) for words in missing] or [tag("li", None, say("limits.nothing"))]
    return join(
        tag("ul", None, [tag("li", None, say(f"limits.{name}")) for name in ALWAYS]),
        tag("h3", None, say("limits.not_tested")),
        tag("ul", None, items),
    )


def untested(material: Material) -> list[str]:
    """List the available tests that this run did not make."""
    experiments = {str(s.where.get("experiment")) for s in material.findings}
    metrics = {s.metric for s in material.scores}
    model = str(material.manifest["model"]["name"])
    keys = []
    if not experiments & {"permutation", "route", "pointing"}:
        keys.append("untested_attention")
    if not experiments & {"noise", "attack_success", "certified", "calibration"}:
        keys.append("untested_robustness")
    if "adversary" not in experiments:
        keys.append("untested_adversary")
    if not experiments & {"seed_variance", "uniform_control", "trained_adversary"}:
        keys.append("untested_seeds")
    if not metrics & {"auprc", "token_f1", "iou_f1"}:
        keys.append("untested_plausibility")
    if not material.manifest.get("shift"):
        keys.append("untested_shift")
    if improvement(material) is None:
        keys.append("untested_improvement")
    keys.append("untested_heads")
    return [say(f"limits.{name}", model=shell_word(model)) for name in keys]
