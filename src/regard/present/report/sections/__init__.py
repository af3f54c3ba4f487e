"""The parts of the report, one file each: `TITLE`, and a function from Material to Html (or None: nothing to show)."""
