"""Judge: from stored evidence to verdicts, by pure functions of numbers. Runs no model."""
