"""Learn how the scale of errors varies, and their tails, from held-out rows.

z = (y − m)/sd of held-out rows is modelled as Student's t with the squared scale e^g,

    g = c₀ + f₁(log sd) + f₂(m) + f₃(x) + f₄(q)

with Gaussian process priors on the four functions. `features` computes their inputs, `basis` makes
them a weighted sum, `fitting` learns the weights and the hyperparameters, `degrees` the degrees of
freedom and the skewness, `decision` tests whether held-out rows gain by it, `scale` keeps the
result. `density` has the likelihood of errors that are known, or known up to a cell of discrete y
(`values`), `skewed` that of a two-piece t; `margins` answers for y.
"""
