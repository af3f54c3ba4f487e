"""What is certain about the smoothed model."""

from __future__ import annotations

from regard.present.markup import Html, join, table, tag
from regard.present.robustness_parts.columns import cell, of_mean, picked
from regard.present.run_reader import Material
from regard.present.saying import say


def certificates(material: Material) -> Html | None:
    """Certified accuracy by radius, with abstention."""
    scores = picked(material, "certified_accuracy")
    if not scores:
        return None
    where = scores[0].where
    words = where.get("sigma") is None
    smooth, n = of_mean(material, picked(material, "smoothed_accuracy"))
    key = "robustness.radius_words" if words else "robustness.radius_l2"
    by_radius = {float(str(s.where["radius"])): s for s in scores}
    rows = [
        [say("robustness.smoothed"), cell(smooth)],
        [say("robustness.abstained"), cell(of_mean(material, picked(material, "abstained"))[0])],
        *([say(key, radius=f"{r:g}"), cell(of_mean(material, [by_radius[r]])[0])] for r in sorted(by_radius)),
    ]
    how = (
        say("robustness.masks", how=str(where["smoothing"]))
        if words
        else say("robustness.gaussian", sigma=where["sigma"])
    )
    caption = say(
        "robustness.certified_caption", how=how, samples=where["samples"], n=n, alpha=where.get("alpha", 0.001)
    )
    about = ("certified_about", "certified_words") if words else ("certified_about",)
    return join(
        tag("h3", None, say("robustness.certified")),
        table([say("robustness.what"), say("robustness.share")], rows, caption=caption, numeric=True),
        tag("p", {"class": "soft"}, " ".join(say(f"robustness.{k}") for k in about)),
    )
