"""Every estimator in its main modes, with a kernel in the units of a table, or learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

import collegium
from collegium import kernels

from .tables import Table

#: Noise over signal: K + noise·I of 40 rows has a condition below 40·30/2 = 600.
SIGNAL, NOISE = 30.0, 2.0
CHUNKS = {"chunks": 8, "anchors": 6}
COUNTS = "y are counts"
#: Integrals of a filter are sums over nodes, which know columns by their order and number.
NODES = {"column_order": "nodes", "constant_column": "nodes"}


@dataclass(frozen=True)
class Case:
    """An estimator to fuzz: how it is made for a table, what y it takes, what is not promised."""

    name: str
    make: Callable[[Table], object]
    target: str = "reals"  # "reals", "counts" or "classes"
    learns: bool = False  # hyperparameters
    exempt: Mapping[str, str] = field(default_factory=dict)  # invariant → reason
    threads: bool = True  # has an argument n_jobs
    whole: bool = False  # takes whole weights only

    @property
    def streams(self) -> bool:
        """Whether it learns from more rows: `partial_fit`."""
        return (
            not self.name.startswith(("nystrom", "committee, refined")) and "grbcm" not in self.name
        )


def given(table: Table, family=kernels.Matern32) -> dict:
    """Kernel and noise in the units of a table."""
    unit, scales = table.units
    return {
        "kernel": family(SIGNAL * unit**2, 1.5 * scales),
        "noise": NOISE * unit**2,
        "learn": False,
    }


def latent(table: Table) -> dict:
    """A kernel of a function without units."""
    return {"kernel": kernels.Matern52(1.5, 1.2 * table.units[1]), "learn": False}


def maker(one, arguments: Callable[[Table], dict], **more) -> Callable[[Table], object]:
    return lambda table: one(**arguments(table), **more)


def nothing(table: Table) -> dict:
    return {}


def committees() -> list[Case]:
    c, seeded = collegium.CommitteeRegressor, {"random_state": 0}
    by_queries = {"batches": "the transductive mode depends on its queries, by design"}
    modes = {
        "exact": {},
        "local": {**CHUNKS, "n_local": 9},
        "anchors only": {**CHUNKS, "n_local": 0},
        "refined": {**CHUNKS, "n_local": 9, "inference": "cg"},
    }
    found = [Case(f"committee, {k}", maker(c, given, **seeded, **v)) for k, v in modes.items()]
    transductive = {**CHUNKS, "inference": "transductive"}
    found.append(
        Case("committee, transductive", maker(c, given, **seeded, **transductive),
             exempt=by_queries)
    )  # fmt: skip
    found += [
        Case(f"committee, {k}, learnt", maker(c, nothing, **seeded, **modes[k]), learns=True)
        for k in ("exact", "local", "anchors only")
    ]
    student = {**seeded, "likelihood": "student-t"}
    found += [
        Case("student-t, exact", maker(c, given, **student)),
        Case("student-t, local", maker(c, given, **student, **modes["local"])),
        Case("student-t, learnt", maker(c, nothing, **student), learns=True),
    ]
    for name in ("poisson", "exponential"):
        positive = {**seeded, "likelihood": name}
        found += [
            Case(f"{name}, {k}", maker(c, latent, **positive, **modes[k]), "counts",
                 exempt={"affine": COUNTS})
            for k in ("exact", "local")
        ]  # fmt: skip
    return found


def classifiers() -> list[Case]:
    c = collegium.CommitteeClassifier
    modes = {
        "logit": {},
        "probit, local": {**CHUNKS, "n_local": 9, "likelihood": "probit"},
        "softmax": {"likelihood": "softmax"},
    }
    found = [
        Case(f"classifier, {k}", maker(c, latent, random_state=0, **v), "classes")
        for k, v in modes.items()
    ]
    found.append(Case("classifier, learnt", maker(c, nothing, random_state=0), "classes", True))
    online = maker(collegium.OnlineGPClassifier, latent, random_state=0)
    return [
        *found,
        Case("online classifier", online, "classes", threads=False, whole=True),
    ]


def others() -> list[Case]:
    c = collegium
    seeded = {"random_state": 0}
    found = [
        Case(f"sparse, {name}", maker(c.SparseGPRegressor, given, method=name, **seeded, **CHUNKS))
        for name in ("sor", "dtc", "fitc", "pitc", "pic", "vfe")
    ]
    found += [
        Case(f"sparse, {name}, learnt",
             maker(c.SparseGPRegressor, nothing, method=name, **seeded, **CHUNKS), learns=True)
        for name in ("fitc", "vfe")
    ]  # fmt: skip
    found.append(Case("nystrom", maker(c.NystromRegressor, given, anchors=6, **seeded)))
    found += [
        Case(f"experts, {name}",
             maker(c.ExpertsRegressor, given, combination=name, chunks=8, **seeded))
        for name in ("poe", "gpoe", "rbcm", "grbcm", "npae", "barycenter")
    ]  # fmt: skip
    return found + streams()


def streams() -> list[Case]:
    c = collegium
    seeded = {"random_state": 0}
    one = {"threads": False}
    return [
        Case("online", maker(c.OnlineGPRegressor, given, **seeded), **one),
        Case("online, learnt", maker(c.OnlineGPRegressor, nothing, **seeded), learns=True, **one),
        Case("online, poisson",
             maker(c.OnlineGPRegressor, latent, likelihood="poisson", **seeded), "counts",
             exempt={"affine": COUNTS}, whole=True, **one),
        Case("filter", maker(c.RegressionFilter, given, n_basis=20, **seeded), exempt=NODES, **one),
        Case("filter, learnt", maker(c.RegressionFilter, nothing, n_basis=20, **seeded),
             learns=True, exempt=NODES, **one),
        Case("rvc", maker(c.RVCRegressor, nothing, width=0.7, **seeded), **one),
        Case("rvc, paper", maker(c.RVCRegressor, nothing, mode="paper", width=1.0, b=0.3, **seeded),
             **one),
    ]  # fmt: skip


CASES = [*committees(), *classifiers(), *others()]


def fitted(case: Case, table: Table, **arguments):
    """The estimator of a case, fitted to the targets that it takes."""
    model = case.make(table).set_params(**arguments)
    plain = (table.w == 1.0).all()
    return model.fit(table.X, target(case, table), None if plain else table.w)


def target(case: Case, table: Table) -> np.ndarray:
    return {"reals": table.y, "counts": table.counts, "classes": table.labels}[case.target]
