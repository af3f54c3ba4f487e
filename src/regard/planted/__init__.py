"""Models whose truth is known by construction: one file each, opened by `planted:NAME`.

A file holds the module, written so that its truth can be read off the code, and a function of the same name that gives
the model ready for every method. Its decorator says the truth: `defect` is what `regard.preconditions` must say about
its attention ("" for none), `truth` the same in a sentence.
"""
