"""What every head of a model does on a corpus: streamed, against baselines, with intervals."""
