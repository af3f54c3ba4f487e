"""Attention health in training loops and running services."""
