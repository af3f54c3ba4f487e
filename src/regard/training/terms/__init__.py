"""Loss terms, one file each: a function of a network's outputs for a batch. `regard list term` shows them."""
