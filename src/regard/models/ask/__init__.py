"""Capabilities: what can be asked of a model beyond a forward pass, one file each."""
