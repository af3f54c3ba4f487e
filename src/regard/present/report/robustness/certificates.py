"""Certified results of the smoothed model."""

from __future__ import annotations

from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.robustness.columns import cell, largest_n, n_in_caption
from regard.present.run_reader import Material


def certificates(material: Material) -> Html | None:
    """Certified accuracy by radius, with abstention."""
    certified = material.conclusions.certificates
    if certified is None:
        return None
    where = next(s.where for s in material.findings if s.metric == "certified_accuracy")
    words = where.get("sigma") is None
    shares = {say("robustness.smoothed"): certified.smoothed, say("robustness.abstained"): certified.abstained}
    key = "robustness.radius_words" if words else "robustness.radius_l2"
    shares |= {say(key, radius=f"{radius:g}"): share for radius, share in certified.certified}
    usual = largest_n(shares.values())
    rows = [[name, cell(share, usual)] for name, share in shares.items()]
    how = (
        say("robustness.masks", how=str(where["smoothing"]))
        if words
        else say("robustness.gaussian", sigma=where["sigma"])
    )
    n, alpha = n_in_caption(shares.values()), where.get("alpha", 0.001)
    caption = say("robustness.certified_caption", how=how, samples=where["samples"], n=n, alpha=alpha)
    about = ("certified_about", "certified_words") if words else ("certified_about",)
    return join(
        tag("h3", None, say("robustness.certified")),
        table([say("robustness.what"), say("robustness.share")], rows, caption=caption, numeric=True),
        tag("p", {"class": "soft"}, " ".join(say(f"robustness.{k}") for k in about)),
    )
