"""Text shown to people: `messages.py` looks a key up in the TOML catalogue of the language."""
