"""Public functions that are not methods of an estimator; their arguments are checked here."""
