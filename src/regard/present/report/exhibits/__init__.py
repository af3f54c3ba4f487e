"""Exhibits of the first screen, found in the run: one file each, records out, no markup."""
