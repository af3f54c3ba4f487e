"""Questions to one model: batched by length, cached, charged to the method that asked. Start in `desk.py`."""
