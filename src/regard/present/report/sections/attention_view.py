"""Interactive views of the stored examples: their attention and the relevance of every method."""

from __future__ import annotations

from regard.present.messages.messages import language, say
from regard.present.pack.pack import pack_of_run
from regard.present.pack.viewer_block import viewer_block
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.present.verdict_words import headline

BUDGET = 40 << 20
"""Maximum bytes of weights and relevances in one page, compressed; with base64 the page stays below 50 MB ..."""
PAGE_BUDGET = 50
"""... of these, in MB."""


def attention_view(material: Material) -> Html | None:
    """Embed the viewer with its data, under the caveat and the model's own verdict; None without attention."""
    if not any(name in material.by_id for name in material.run.kept()):
        return None
    pack = pack_of_run(material.run, budget_bytes=BUDGET * 3 // 4)
    judgements = material.manifest.get("judgements") or []
    verdict = say("attention_view.verdict", reading=headline(judgements[0])) if judgements else None
    # that some examples were not chosen is said in the view itself; here it is about size
    left_out = pack.manifest.left_out[: -1 if len(pack.manifest.examples) < len(material.by_id) else None]
    notes = say("limits.left_out", budget=PAGE_BUDGET, what="; ".join(left_out)) if left_out else None
    return join(
        tag("p", {"class": "note"}, say("caveat"), f" {verdict}" if verdict else None),
        viewer_block(pack, name="attention-viewer", lang=language()),
        tag("p", {"class": "soft"}, notes) if notes else None,
    )
