"""The parts of the section about robustness: one file each, each with a table beside its chart."""
