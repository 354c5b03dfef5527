"""Monotone transforms of targets and inputs, chosen by the density of held-out rows.

`scores` makes normal scores, `targets` and `inputs` the records that a fitted model keeps,
`moments` means and standard deviations in the units of the user; `held_out` tries a transform on
some rows, `choosing` chooses among those tried.
"""
