"""The scale of the error where it is not the same everywhere, learnt from held-out rows.

z = (y − m)/sd of held-out rows is taken to be Student's t with the squared scale e^g,

    g = c₀ + f₁(log sd) + f₂(m) + f₃(x) + f₄(q)

with Gaussian process priors on the four functions. `features` makes their inputs, `basis` makes
them a weighted sum, `fitting` learns the weights and the hyperparameters, `degrees` the degrees of
freedom, `decision` says whether held-out rows are better for it, `scale` keeps the result.
"""
