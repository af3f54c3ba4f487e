"""File formats, one small file each; each opens a path as a `Table` that can be walked more than once."""
