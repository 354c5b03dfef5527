"""Sets of counts and the methods that are measured on them."""

from __future__ import annotations

from benchmarks.harness.task import Method, Task

SETS = ("bike_hour_counts",)
FILES: dict[str, str | None] = {"bike_hour_counts": "bike_hour"}
METHODS: dict[str, Method] = {
    "collegium, Poisson": Method("counts.ours", {"likelihood": "poisson"}, group="ours"),
    "collegium of the logs": Method("counts.logs", group="ours"),
    "Poisson regression": Method("counts.linear"),
    "LightGBM Poisson": Method("counts.lightgbm_trees", packages=("lightgbm",)),
}
TASK = Task(
    "counts",
    SETS,
    METHODS,
    files=FILES,
    line="deviance {deviance:.2f}  covers {coverage:.1%}  width {width:.1f}",
)
