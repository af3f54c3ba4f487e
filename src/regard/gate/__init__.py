"""A stored run against a policy: passed, failed or not decided. Reads runs, needs no model."""
