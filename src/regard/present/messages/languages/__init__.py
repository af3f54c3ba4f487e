"""One catalogue of sentences for each language, `en.toml` and `zh.toml`: the same keys in both (a test compares)."""
