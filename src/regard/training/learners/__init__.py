"""Learners, one file each: from training data to a `Learner`. `regard list learner` lists them."""
