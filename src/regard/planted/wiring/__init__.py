"""Planted models with weights set by hand: networks, their readers, and their certificates by intervention."""
