"""From rows to a fitted model: settings, the steps of a fit, the model's layers, and streams."""
