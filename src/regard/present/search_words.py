"""Search over the strengths of recipes in words: its candidates and its choice."""

from __future__ import annotations

from typing import Any

from regard.present.messages.messages import say
from regard.visible import hyphenated


def search_sentence(search: dict[str, Any]) -> str:
    """Budget, candidates, and the validation figures of the best mixture compared with those without a recipe."""
    best = next((c for c in search["tried"] if c["parts"] == search["best"]), search["plain"])
    return say(
        "improvement.search",
        tried=len(search["tried"]),
        possible=search["possible"],
        budget=search["budget"],
        passes=f"{search['passes']:,}",
        seed=search["seed"],
        n=search["n"],
        best=" + ".join(map(hyphenated, best["parts"])),
        share=_share(best["share"]),
        plain_share=_share(search["plain"]["share"]),
        accuracy=f"{best['accuracy']:.3f}",
        plain_accuracy=f"{search['plain']['accuracy']:.3f}",
    )


def _share(share: float | None) -> str:
    return say("unknown") if share is None else f"{share:.2f}"
