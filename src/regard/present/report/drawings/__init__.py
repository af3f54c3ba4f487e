"""Drawings of units: one file per kind of place (character span, box, time range, column)."""
