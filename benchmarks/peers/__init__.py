"""Methods that are compared: one file each, one folder per kind of prediction.

Each file has a `Model(seed, threads, **arguments)` with

fit(X, y)    on standardised inputs; `self.found` may say in words what was chosen or learnt
predict(Xs)  -> regression: mean and standard deviation of a new observation
                classes: probabilities and the codes of their columns
                counts: mean, lower and upper end of a 95 % interval

and may have, of regression,

forecast(Xs, y, answer)  -> a `harness.forecast.Forecast`: its own predictive distribution at y,
                            where that is more than a normal; `answer` is what `predict` gave
held                     y, means and standard deviations of rows that it held out of its training

A module with `TAKES_CATEGORIES = True` has a Model that takes `categories`, columns that hold codes
of words. The module may have `warm_up()`, which compiles what would otherwise be compiled while the
clock runs. Its docstring is printed in docs/, so it says what was run. `outliers` asks the methods
of regression.
"""
