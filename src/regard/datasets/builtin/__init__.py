"""Built-in data sets, one file each; its name is its public name (`regard list dataset`)."""
