"""One file a method. Each has a `Model(seed, threads, **arguments)` with

fit(X, y)    on standardised rows; `self.found` may say in words what was chosen or learnt
predict(Xs)  -> mean and standard deviation of a new observation

and may have `warm_up()`, which compiles what would otherwise be compiled while the clock runs.
"""
