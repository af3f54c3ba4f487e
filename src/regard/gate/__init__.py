"""Release gates: check a stored run against a policy (passed, failed or undecided) without its model."""
