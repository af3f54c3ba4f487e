"""Models behind an OpenAI-compatible completions endpoint: log-probabilities of texts only."""
