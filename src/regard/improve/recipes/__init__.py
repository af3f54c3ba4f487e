"""Recipes, one file each: a function of the modality that returns the additions to the training."""
