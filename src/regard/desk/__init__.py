"""Desk: batches questions about one model by length, caches answers, charges the calling method. Start in `desk.py`."""
