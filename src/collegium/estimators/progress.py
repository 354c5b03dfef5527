"""A line now and then about long work."""

import sys
import time


class Progress:
    """Says what is being done, with the seconds since the start; silent at verbose = 0."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.start = time.perf_counter()

    def __call__(self, text: str) -> None:
        if self.verbose:
            elapsed = time.perf_counter() - self.start
            print(f"[collegium {elapsed:7.1f} s] {text}", file=sys.stdout, flush=True)
