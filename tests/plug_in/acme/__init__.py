"""A package of somebody else's: one method of each kind that regard finds by entry point."""
