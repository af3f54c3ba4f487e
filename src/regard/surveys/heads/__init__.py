"""Survey of heads: the behaviour of every head of a model on a corpus, streamed, against baselines, with intervals."""
