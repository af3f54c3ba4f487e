"""Planted models, whose truth is known by construction, opened by `planted:NAME`.

Some have weights set by hand, one file each, so that the truth can be read off the code. The others are trained from a
recipe (`grown_models.py`, `growing/`) with a size and a seed, and certified with the generator's knowledge. The
decorator states the `truth` in one sentence and the `defect` that `preconditions` must report ("" for none).
`truth.toml` holds the expected verdict for each question, with the reason.
"""
