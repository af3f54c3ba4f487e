"""One small file per format; each opens a path as a `Table` that can be walked more than once."""
