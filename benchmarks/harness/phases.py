"""CPU seconds of the phases of a fit, by the tasks that it announces."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from collegium.interface.words.progress import Progress

#: Tasks as a fit announces them, and the phase that each belongs to.
PHASES = {
    "choosing transforms": "scale",
    "working": "scale",
    "learning": "learn",
    "choosing anchors": "choose",
    "checking error bars": "check",
    "adding messages": "add up",
    "refining means": "refine",
    "finishing": "errors",
    "learning the scale of errors": "errors",
    "averaging over hyperparameters": "learn",
    "asking members": "members",
    "growing trees for the size of errors": "members",
}
#: In the order of a fit.
ORDER = ("scale", "learn", "choose", "check", "add up", "refine", "errors", "members")


@contextmanager
def phases() -> Iterator[dict[str, float]]:
    """Measure the fits of a block: CPU seconds of each phase, once the block has ended."""
    seconds: dict[str, float] = defaultdict(float)
    last = ["scale", time.process_time()]

    def enter(name: str) -> None:
        now = time.process_time()
        seconds[last[0]] += now - last[1]
        last[:] = name, now

    def announced(self: Progress, task: str) -> None:
        vars(self)["own_task"] = task
        enter(PHASES.get(task, "other"))

    task = property(lambda self: vars(self)["own_task"], announced)
    with patch.object(Progress, "task", task, create=True):
        last[:] = "scale", time.process_time()
        yield seconds
        enter("other")
