"""A robot arm with clean training targets and with outliers, and noise models for them."""

from __future__ import annotations

from benchmarks.harness.task import Method, Task

SETS = ("kin8nm_clean", "kin8nm_outliers")
FILES: dict[str, str | None] = dict.fromkeys(SETS, "kin8nm")
METHODS: dict[str, Method] = {
    "collegium, Student-t noise": Method(
        "regression.ours", {"likelihood": "student-t"}, group="ours"
    ),
    "collegium, Gaussian noise": Method("regression.ours", group="ours"),
}
TASK = Task("outliers", SETS, METHODS, files=FILES, line="RMSE {RMSE:.4f}  covers {coverage:.1%}")
