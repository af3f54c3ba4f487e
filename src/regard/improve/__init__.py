"""Robustness training: recipes on the one training loop, and the paired comparison before and after."""
