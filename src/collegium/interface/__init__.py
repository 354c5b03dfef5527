"""All that knows scikit-learn: checks of rows and arguments, answers in the units of y."""
