"""Learn hyperparameters, choose anchors, and calibrate error bars on held-out rows."""
