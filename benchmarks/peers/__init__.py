"""Who answers: one file a method, a folder a kind of answer.

Each file has a `Model(seed, threads, **arguments)` with

fit(X, y)    on standardised inputs; `self.found` may say in words what was chosen or learnt
predict(Xs)  -> regression: mean and standard deviation of a new observation
                classes: probabilities and the codes of their columns
                counts: mean, lower and upper end of a 95 % interval

and may have `warm_up()`, which compiles what would otherwise be compiled while the clock runs. Its
docstring is printed in docs/, so it says what was run. `outliers` asks the methods of regression.
"""
