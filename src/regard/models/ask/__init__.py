"""Capabilities of a model beyond `protocols.Model`, one generic function each; start in `capability.py`."""
