"""How units are drawn: one file per kind of place (character span, box, time range, column)."""
