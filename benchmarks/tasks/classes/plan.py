"""What `make bench-classes` measures: classes, counts and targets with outliers.

Standard library only, as plan.py.
"""

from __future__ import annotations

from plan import Method

#: Two classes first, then more; smallest first.
BINARY = ("breast_cancer", "spambase", "banana")
MULTI = ("digits", "satimage", "letter", "shuttle")
CLASSES = BINARY + MULTI
COUNTS = ("bike_hour",)
OUTLIERS = ("kin8nm_clean", "kin8nm_outliers")
SETS = CLASSES + COUNTS + OUTLIERS
#: Sets that are not named as their file; None: scikit-learn brings them.
FILES: dict[str, str | None] = {
    "breast_cancer": None, "digits": None, "kin8nm_clean": "kin8nm", "kin8nm_outliers": "kin8nm",
}  # fmt: skip
#: Sets of more rows than one chunk takes: on others the ways to cut and to sweep are the same.
CHUNKED = ("spambase", "banana", "satimage", "letter", "shuttle")
#: The method whose CPU time is the budget of those that take as many rows as they can.
BUDGET_OF = "collegium"

OURS: dict[str, Method] = {
    "collegium": Method("classes_ours", {}, CLASSES, group="ours"),
    "collegium, one sweep": Method("classes_ours", {"sweeps": 1}, CHUNKED, group="ours"),
    "collegium, random chunks": Method(
        "classes_ours", {"partition": "random"}, CHUNKED, group="ours"
    ),
    "collegium, random chunks, one sweep": Method(
        "classes_ours", {"partition": "random", "sweeps": 1}, CHUNKED, group="ours"
    ),
    "collegium softmax": Method("classes_ours", {"likelihood": "softmax"}, MULTI, group="ours"),
}
PEERS: dict[str, Method] = {
    "scikit-learn GP": Method("classes_gp", {}, CLASSES),
    "logistic regression": Method("classes_logistic", {}, CLASSES),
    "LightGBM": Method("classes_lightgbm", {}, CLASSES, packages=("lightgbm",)),
}
COUNTING: dict[str, Method] = {
    "collegium, Poisson": Method("counts_ours", {"likelihood": "poisson"}, COUNTS, group="ours"),
    "collegium of the logs": Method("counts_logs", {}, COUNTS, group="ours"),
    "Poisson regression": Method("counts_linear", {}, COUNTS),
    "LightGBM Poisson": Method("counts_lightgbm", {}, COUNTS, packages=("lightgbm",)),
}
ROBUST: dict[str, Method] = {
    "collegium, Student-t noise": Method(
        "ours", {"likelihood": "student-t"}, OUTLIERS, group="ours"
    ),
    "collegium, Gaussian noise": Method("ours", {}, OUTLIERS, group="ours"),
}
METHODS: dict[str, Method] = {**OURS, **PEERS, **COUNTING, **ROBUST}
