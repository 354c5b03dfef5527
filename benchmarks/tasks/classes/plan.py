"""Sets of classes and the classifiers that are measured on them."""

from __future__ import annotations

from benchmarks.harness.task import Method, Task

#: Two classes first, then more; smallest first.
BINARY = ("breast_cancer", "spambase", "banana")
MULTI = ("digits", "satimage", "letter", "shuttle")
SETS = BINARY + MULTI
FILES: dict[str, str | None] = {"breast_cancer": None, "digits": None}
#: Sets of more rows than one chunk takes: on others the ways to cut and to sweep are the same.
CHUNKED = ("spambase", "banana", "satimage", "letter", "shuttle")

#: Our configurations: arguments of CommitteeClassifier, and its sweeps, with the sets to run on.
OURS: dict[str, tuple[dict, tuple[str, ...]]] = {
    "collegium": ({}, SETS),
    "collegium, one sweep": ({"sweeps": 1}, CHUNKED),
    "collegium, random chunks": ({"chunks": "random"}, CHUNKED),
    "collegium, random chunks, one sweep": ({"chunks": "random", "sweeps": 1}, CHUNKED),
    "collegium softmax": ({"likelihood": "softmax"}, MULTI),
}
PEERS: dict[str, Method] = {
    "scikit-learn GP": Method("classes.gp", budget_of="collegium"),
    "logistic regression": Method("classes.logistic"),
    "LightGBM": Method("classes.lightgbm_trees", packages=("lightgbm",)),
    "CatBoost": Method("classes.catboost_trees", packages=("catboost",)),
}
METHODS: dict[str, Method] = {
    **{name: Method("classes.ours", *given, group="ours") for name, given in OURS.items()},
    **PEERS,
}
TASK = Task(
    "classes", SETS, METHODS, files=FILES,
    line="right {accuracy:.2%}  log loss {log_loss:.4f}  ECE {ece:.3f}  Brier {brier:.4f}",
)  # fmt: skip
