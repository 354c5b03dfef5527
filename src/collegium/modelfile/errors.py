"""The error that all bad model files raise."""


class ModelFileError(ValueError):
    """Raised where a file is damaged, of a newer release, or not a model file."""
