"""What can be trained: one file each, from training data to a `Learner`. `regard list learner` shows them."""
