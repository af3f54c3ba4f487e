"""Models made sturdier, and whether they became it: recipes on the one training loop, before and after in pairs."""
