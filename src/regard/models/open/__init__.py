"""Loaders: a directory, a live module or stored arrays -> a model. Start in `load.py`."""
