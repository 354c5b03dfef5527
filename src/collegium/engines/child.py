"""A process that works on one run and announces every item before it begins it."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

from .tasks import dumps


def main() -> None:
    """Read a run from standard input; write "item k" for each, then "result n" and n bytes."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output goes to standard error
    path, work, items = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    own = pickle.loads(work)
    run, dead = pickle.loads(items)

    def announce(position: int) -> None:
        out.write(b"item %d\n" % position)
        out.flush()

    try:
        answer: Any = True, own(run, dead, announce)
    except Exception as error:
        answer = False, error
    try:
        found = dumps(answer)
    except Exception as error:  # an answer or an error that cannot be pickled
        found = dumps((False, RuntimeError(f"{error}: {answer[1]!r}")))
    out.write(b"result %d\n" % len(found))
    out.write(found)
    out.flush()


if __name__ == "__main__":
    main()
