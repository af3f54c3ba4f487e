"""The rows of the support table, one file per family."""
