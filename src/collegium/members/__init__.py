"""Other opinions about the mean beside a committee: boosted trees, or a regressor of the user.

`forest` keeps trees as plain arrays and evaluates them, `boosting` grows them, `folds` says which
rows a forest has not seen, `weighing` learns how much a member counts where the committee is
unsure, `members` keeps the result and predicts with it.
"""
