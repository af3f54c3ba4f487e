"""Recipes: one file each, a function of the modality that says what is added to the training. `regard list recipe`."""
