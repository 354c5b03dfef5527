"""Fuzz all estimators for some minutes, and say what was tried.

python -m fuzz.run [--seconds 540] [--seed 0] [--only committee] [--invariants finite affine]

Rounds of a few examples for every estimator and invariant, until the time is over: the examples
of a seed are always the same, how many rounds fit is up to the machine.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import hypothesis
from hypothesis import HealthCheck, Phase

from collegium.sparse.nystrom import NystromWarning

from .estimators import CASES, Case
from .invariants import INVARIANTS, applies, strategy
from .tables import Table, simpler

#: Examples of a pair in one round.
EXAMPLES = 2


@dataclass
class Tried:
    """Counts of examples, and what failed: the simplest table and what was said."""

    counts: Counter = field(default_factory=Counter)
    failed: dict[tuple[str, str], tuple[Table, str]] = field(default_factory=dict)


def failure(case: Case, name: str, table: Table) -> str:
    """What an example says; empty where the invariant holds. Any error is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="collegium")
        warnings.simplefilter("ignore", NystromWarning)  # a property of the method, as published
        try:
            INVARIANTS[name](case, table)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def simplest(case: Case, name: str, table: Table) -> tuple[Table, str]:
    """A table that fails too, as plain as can be found by leaving out one flaw after another."""
    said = failure(case, name, table)
    for other in simpler(table):
        if failure(case, name, other):
            return simplest(case, name, other)
    return table, said


def try_some(case: Case, name: str, seed: int, tried: Tried) -> None:
    """Run some examples of an invariant; keep the first that fails."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy(case, name))
    def example(table: Table) -> None:
        key = case.name, name
        tried.counts[key] += 1
        if key not in tried.failed and failure(case, name, table):
            tried.failed[key] = simplest(case, name, table)

    example()  # fmt: skip


def report(tried: Tried) -> str:
    """A table of counts, and the failures."""
    names = list(INVARIANTS)
    lines = [f"{'examples':30}" + "".join(f"{name:>16}" for name in names)]
    for case in CASES:
        counts = [tried.counts[case.name, name] for name in names]
        if any(counts):
            lines.append(f"{case.name:30}" + "".join(f"{n or '–':>16}" for n in counts))
    lines.append(f"{sum(tried.counts.values())} examples, {len(tried.failed)} failures")
    for (case, name), (table, said) in tried.failed.items():
        lines.append(f"FAILED {name} of {case}: {said}\n    {table}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=540.0, help="of wall time, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of estimators' names")
    parser.add_argument("--invariants", nargs="+", default=list(INVARIANTS), choices=INVARIANTS)
    options = parser.parse_args()
    chosen = [case for case in CASES if case.name.startswith(tuple(options.only))]
    pairs = [(c, name) for name in options.invariants for c in chosen if applies(c, name)]
    tried, stop, seed = Tried(), time.monotonic() + options.seconds, 1000 * options.seed
    while pairs and time.monotonic() < stop:
        for case, name in pairs:
            if time.monotonic() < stop:
                try_some(case, name, seed, tried)
        seed += 1
    print(report(tried))
    return 1 if tried.failed else 0


if __name__ == "__main__":
    sys.exit(main())
