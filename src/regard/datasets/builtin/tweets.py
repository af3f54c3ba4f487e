"""`tweets`: real tweets with human sentiment ratings."""

from __future__ import annotations

import hashlib
import html
from functools import cache
from pathlib import Path

from regard.datasets import sampling
from regard.datasets.archives import archive_bytes
from regard.datasets.examples import Examples
from regard.datasets.splits import checked, normalised, split_of
from regard.records import Example, Message
from regard.registry import method

NAMES = ("negative", "positive")
ARCHIVE = "vaderSentiment-3.3.2.tar.gz"
INSIDE = (
    "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
    "hutto_ICWSM_2014/tweets_GroundTruth.txt",
)
SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
NEUTRAL = 0.5
"""Mean ratings (-4..4) nearer to 0 than this count as neutral."""


@method("dataset", modality="text", licence="MIT", package="vaderSentiment==3.3.2 (source archive)", real=True)
def tweets(*, split: str = "all", n: int | None = None, seed: int = 0) -> Examples:
    """Tweets, negative (0) or positive (1) by the mean of 20 ratings; excludes those within .5 of neutral.

    Reference: Hutto & Gilbert 2014. Another domain for models of `reviews`: `regard audit bilstm --shift tweets`. The
    texts lie in the source archive of the package, which pip downloads and does not install; the error says how.
    """
    split = checked(split)
    everything, repeated, neutral = _tweets(None)
    items = [example for example, home in everything if split in ("all", home)]
    notes = [Message.of("data.tweets", n=len(everything), source="vaderSentiment 3.3.2 (MIT)")]
    notes.append(Message.of("data.neutral_tweets", n=neutral, within=NEUTRAL))
    notes.append(Message.of("data.split_text", split=split, n=len(items)))
    if repeated:
        notes.append(Message.of("data.repeated_texts", n=repeated))
    if n is not None and n < len(items):
        notes.append(sampling.note(n, len(items), seed=seed))
        items = sampling.stratified(items, n, seed=seed)
    return Examples("tweets", tuple(items), NAMES, tuple(notes))


@cache
def _tweets(folder: Path | None) -> tuple[list[tuple[Example, str]], int, int]:
    """Return every usable tweet with its split, and the numbers of duplicates and of neutral ones."""
    content = archive_bytes(ARCHIVE, *INSIDE, sha256=SHA256, needs="vaderSentiment==3.3.2", folder=folder)
    return parsed(content.decode("utf-8"))


def parsed(content: str) -> tuple[list[tuple[Example, str]], int, int]:
    """Parse tab-separated lines of number, mean rating and text.

    >>> lines = ("1\\t2.7\\tSo &amp; so good", "2\\t0.1\\tmeh", "3\\t-1\\tSO & SO GOOD")
    >>> found, repeated, neutral = parsed("\\r\\n".join(lines))
    >>> [(e.inputs["text"], e.label) for e, _ in found], repeated, neutral
    ([('So & so good', 1)], 1, 1)
    """
    by_home: dict[str, tuple[Example, str]] = {}
    repeated = neutral = 0
    for line in content.split("\n"):
        if not line.strip():
            continue
        _, rating, text = line.split("\t", 2)
        text = html.unescape(text).strip()
        if abs(float(rating)) < NEUTRAL:
            neutral += 1
            continue
        home = normalised(text)
        if home in by_home:
            repeated += 1
            continue
        ident = hashlib.blake2b(home.encode(), digest_size=6).hexdigest()
        by_home[home] = Example(ident, {"text": text}, int(float(rating) > 0)), split_of(home)
    return list(by_home.values()), repeated, neutral
