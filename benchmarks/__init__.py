"""Speed and memory, side by side with the peers, as ratios measured in one run."""
