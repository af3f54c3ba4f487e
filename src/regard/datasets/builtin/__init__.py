"""One file per built-in data set; its name is its public name (`regard list dataset`)."""
