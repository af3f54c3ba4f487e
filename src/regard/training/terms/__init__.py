"""Terms of a loss: one file each, a function of what a network said about a batch. `regard list term` shows them."""
