"""Message catalogues, one per language, `en.toml` and `zh.toml`: the same keys in both (a test compares)."""
