"""The report of a run as HTML, Markdown, JSON or PDF. Start in `report.py`."""
