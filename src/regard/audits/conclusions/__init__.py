"""Statistics that a report shows with an interval, computed from a stored run: one conclusion per file, no torch."""
