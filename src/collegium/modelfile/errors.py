"""What can be wrong with a model file."""


class ModelFileError(ValueError):
    """A file that is damaged, of a newer release, or not a model file."""
