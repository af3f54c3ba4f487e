"""Models whose truth is known by construction: one file each, opened by `planted:NAME`.

Some are set by hand: the file holds the module, written so that its truth can be read off the code. The others are
grown (`growing/`) from a recipe, with a size and a seed, and certified with the generator's knowledge. `truth` in the
decorator says in a sentence what is true; `defect`, where it stands, is what `regard.preconditions` must say about its
attention ("" for none). `truth.toml` says what the judge must answer, question by question, and why.
"""
