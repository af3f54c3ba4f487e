"""Readers: an example in the form that its model reads, by modality."""
