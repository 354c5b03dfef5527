"""Maps: a model on a grid of two columns, as arrays, datasets, files and pictures."""
