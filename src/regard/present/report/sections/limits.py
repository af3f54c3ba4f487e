"""What was not tested, and what these numbers do not say."""

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
    said = [tag("li", None, words) for words in missing] or [tag("li", None, say("limits.nothing"))]
    return join(
        tag("ul", None, [tag("li", None, say(f"limits.{name}")) for name in ALWAYS]),
        tag("h3", None, say("limits.not_tested")),
        tag("ul", None, said),
    )


def untested(material: Material) -> list[str]:
    """What regard could test and this run did not."""
    tried = {str(s.where.get("experiment")) for s in material.findings}
    metrics = {s.metric for s in material.scores}
    model = str(material.manifest["model"]["name"])
    found = []
    if not tried & {"permutation", "route", "pointing"}:
        found.append("untested_attention")
    if not tried & {"noise", "attack_success", "certified", "calibration"}:
        found.append("untested_robustness")
    if "adversary" not in tried:
        found.append("untested_adversary")
    if not tried & {"seed_variance", "uniform_control", "trained_adversary"}:
        found.append("untested_seeds")
    if not metrics & {"auprc", "token_f1", "iou_f1"}:
        found.append("untested_plausibility")
    if not material.manifest.get("shift"):
        found.append("untested_shift")
    if improvement(material) is None:
        found.append("untested_improvement")
    found.append("untested_heads")
    return [say(f"limits.{name}", model=shell_word(model)) for name in found]
