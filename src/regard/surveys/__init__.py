"""Programs over a model and data beside the audit: attacks, noise, behavioral tests, term swaps, heads, pruning."""
