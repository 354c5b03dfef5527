"""What must hold of every estimator on any table: each a function of a case and a table."""

from __future__ import annotations

import pickle
from dataclasses import replace
from threading import Thread

import numpy as np
from hypothesis import strategies as st

from processors import KEEPS_BITS

from .estimators import Case, fitted, target
from .tables import INPUTS, TARGETS, WEIGHTS, Table, tables

Array = np.ndarray

#: Rounding. K + noise·I has a condition of at most 600 w, with w the largest weight (see
#: `estimators.SIGNAL`); kernels pass through logarithms, which leaves some 1e-15 of them, and
#: offsets of eight units leave as much of y: about 1e-15 · 600 · 10 w sd where every error counts
#: in full. Searches for modes of latent functions end at steps of 1e-8 or so.
ROUNDED, ROUNDED_BY_WEIGHT = 1e-7, 1e-11
#: Learning ends where a step gains less than 3e-6 of the evidence of a row (`maximise`), of 40 rows
#: 1.2e-4 nats: √(2 · 1.2e-4) posterior standard deviations of the hyperparameters.
LEARNT = 0.02
#: A prediction alone and among others, in standard deviations: the same to the last bit, where
#: the loops of BLAS are among those that were tried.
BATCH = 0.0 if KEEPS_BITS else 1e-5


def answers(case: Case, model, Xs: Array) -> tuple[Array, Array]:
    """Means and standard deviations, or probabilities and ones."""
    if case.target == "classes":
        p = model.predict_proba(Xs)
        return p, np.ones_like(p)
    return model.predict(Xs, return_std=True)


def assert_close(found, expected, tol: float, also: float = 0.0) -> None:
    """Means within tol standard deviations (and tol · also), deviations within a share tol."""
    (mean, std), (mean0, std0) = found, expected
    far = np.abs(mean - mean0) > tol * (std0 + also)
    assert not far.any(), f"means differ by {np.max(np.abs(mean - mean0) / std0):.2g} sd"
    wide = np.abs(std - std0) > tol * std0
    assert not wide.any(), f"sd differ by a share of {np.max(np.abs(std / std0 - 1.0)):.2g}"


def spread(case: Case, table: Table) -> float:
    """The size of targets about their mean, which rounding errors are relative to."""
    return float(np.ptp(table.y)) if case.target == "reals" else 1.0


def rounding(case: Case, table: Table) -> float:
    """The error that other roundings may cause, in standard deviations."""
    return max(LEARNT if case.learns else ROUNDED, ROUNDED_BY_WEIGHT * float(table.w.max()))


def finite(case: Case, table: Table) -> None:
    """Finite answers, positive deviations, intervals in order, finite draws; probabilities that
    are some and add up to one."""
    model = fitted(case, table)
    mean, std = answers(case, model, table.Xs)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    if case.target == "classes":
        assert (mean >= 0.0).all() and np.allclose(mean.sum(axis=1), 1.0, atol=1e-12)
        assert np.isin(model.predict(table.Xs), model.classes_).all()
        return
    assert (std > 0.0).all(), "sd of an observation is zero"
    inner, outer = (model.predict_interval(table.Xs, coverage=c) for c in (0.5, 0.95))
    assert (outer[0] <= inner[0]).all() and (inner[0] <= inner[1]).all()
    assert (inner[1] <= outer[1]).all()
    function = model.predict(table.Xs, return_std=True, level="function")[1]
    assert np.isfinite(function).all() and (function >= 0.0).all()
    if getattr(model, "combination", "npae") == "npae":  # others know no joint answers
        assert np.isfinite(model.sample_y(table.Xs, 2, random_state=0)).all()


def rescaled(case: Case, table: Table) -> None:
    """8y gives eight times the mean and the deviation: y is not rounded, so learning too."""
    unit, scales = table.units
    first = answers(case, fitted(case, table), table.Xs)
    other = replace(table, y=8.0 * table.y, units=(8.0 * unit, scales))
    mean, std = answers(case, fitted(case, other), table.Xs)
    assert_close((mean / 8.0, std / 8.0), first, rounding(case, table), spread(case, table))


def affine(case: Case, table: Table) -> None:
    """8 − 2y gives 8 − 2·mean and twice the deviation. Classes: names do not matter."""
    first = answers(case, fitted(case, table), table.Xs)
    if case.target == "classes":
        return _renamed(case, table, first)
    unit, scales = table.units
    moved = replace(table, y=8.0 * unit - 2.0 * table.y, units=(2.0 * unit, scales))
    mean, std = answers(case, fitted(case, moved), table.Xs)
    return assert_close(
        (4.0 * unit - 0.5 * mean, 0.5 * std), first, rounding(case, table), spread(case, table)
    )


def _renamed(case: Case, table: Table, first) -> None:
    """Labels in the opposite order: probabilities in the opposite order."""
    names = np.where(table.labels == "low", "z", "a")
    other = answers(case, fitted(case, replace(table, labels=names)), table.Xs)
    assert_close((other[0][:, ::-1], first[1]), first, rounding(case, table))


def columns(case: Case, table: Table) -> None:
    """Columns in other units (powers of two, so that nothing is rounded): the same answers."""
    factors = 2.0 ** np.array([3, -7, 10, -1])[: table.X.shape[1]]
    unit, scales = table.units
    other = replace(table, X=table.X * factors, Xs=table.Xs * factors,
                    units=(unit, scales * factors))  # fmt: skip
    first = answers(case, fitted(case, table), table.Xs)
    second = answers(case, fitted(case, other), other.Xs)
    assert_close(second, first, rounding(case, table), spread(case, table))


def column_order(case: Case, table: Table) -> None:
    """Columns in another order: the same answers."""
    order = np.roll(np.arange(table.X.shape[1]), 1)
    _same_of_other_inputs(case, table, lambda X: X[:, order], table.units[1][order])


def constant_column(case: Case, table: Table) -> None:
    """One more column, which is constant: the same answers, where no prior counts the columns."""
    scales = np.append(table.units[1], 1.0)
    _same_of_other_inputs(
        case, table, lambda X: np.column_stack([X, np.full(len(X), 1.25)]), scales
    )


def units(case: Case, table: Table) -> None:
    """X and y in units of 1/3.7: the same answers in these units; every number is rounded."""
    unit, scales = table.units
    first = answers(case, fitted(case, table), table.Xs)
    other = replace(table, X=3.7 * table.X, y=3.7 * table.y, units=(3.7 * unit, 3.7 * scales))
    mean, std = answers(case, fitted(case, other), 3.7 * table.Xs)
    size = 3.7 if case.target == "reals" else 1.0
    assert_close((mean / size, std / size), first, rounding(case, table), spread(case, table))


def _same_of_other_inputs(case: Case, table: Table, change, scales: Array) -> None:
    other = replace(table, X=change(table.X), Xs=change(table.Xs), units=(table.units[0], scales))
    first = answers(case, fitted(case, table), table.Xs)
    second = answers(case, fitted(case, other), other.Xs)
    assert_close(second, first, rounding(case, table), spread(case, table))


def writers(case: Case, table: Table) -> None:
    """Two threads that each add a part: the model of one part after the other, in some order."""
    n = table.y.size
    start, *parts = (np.arange(n)[i::3] for i in range(3))
    orders = []
    for order in (parts, parts[::-1]):
        model = _started(case, table, start)
        for part in order:
            _add(case, table, model, part)
        orders.append(answers(case, model, table.Xs))
    model = _started(case, table, start)
    faults: list[BaseException] = []

    def add(part: Array) -> None:
        try:
            _add(case, table, model, part)
        except BaseException as fault:
            faults.append(fault)

    threads = [Thread(target=add, args=(part,)) for part in parts]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if faults:
        raise faults[0]
    found = answers(case, model, table.Xs)
    same = [all(np.array_equal(a, b) for a, b in zip(found, one)) for one in orders]
    assert any(same), "rows of one of two threads are lost"


def _started(case: Case, table: Table, rows: Array):
    """The estimator of a case, after some rows; classes are those of all."""
    model = case.make(table)
    _add(
        case, table, model, rows, **({"classes": ["low", "up"]} if case.target == "classes" else {})
    )
    return model


def _add(case: Case, table: Table, model, rows: Array, **more) -> None:
    own = table.take(rows)
    model.partial_fit(own.X, target(case, own), **more)


def permutation(case: Case, table: Table) -> None:
    """Rows in another order: the same model, to the last bit (rows are sorted first)."""
    order = np.random.default_rng(5).permutation(table.y.size)
    first = answers(case, fitted(case, table), table.Xs)
    assert_close(answers(case, fitted(case, table.take(order)), table.Xs), first, 0.0)


def repetition(case: Case, table: Table) -> None:
    """Whole weights and repeated rows: the same model, to the last bit (equal rows are merged)."""
    repeated = table.take(np.repeat(np.arange(table.y.size), table.w.astype(int)))
    repeated = replace(repeated, w=np.ones(repeated.y.size))
    first = answers(case, fitted(case, table), table.Xs)
    assert_close(answers(case, fitted(case, repeated), table.Xs), first, 0.0)


def batches(case: Case, table: Table) -> None:
    """Each query alone, and all together."""
    model = fitted(case, table)
    whole = answers(case, model, table.Xs)
    alone = [answers(case, model, x[None]) for x in table.Xs]
    assert_close([np.concatenate(part) for part in zip(*alone)], whole, BATCH)


def jobs(case: Case, table: Table) -> None:
    """The same bits for any number of threads."""
    one, two = (fitted(case, table, n_jobs=n) for n in (1, 2))
    assert_close(answers(case, two, table.Xs), answers(case, one, table.Xs), 0.0)


def pickled(case: Case, table: Table) -> None:
    """The same bits after a round trip."""
    model = fitted(case, table)
    again = pickle.loads(pickle.dumps(model))
    assert_close(answers(case, again, table.Xs), answers(case, model, table.Xs), 0.0)


INVARIANTS = {
    one.__name__: one
    for one in (
        finite,
        rescaled,
        affine,
        columns,
        column_order,
        constant_column,
        units,
        permutation,
        repetition,
        batches,
        jobs,
        pickled,
        writers,
    )
}


def applies(case: Case, name: str) -> bool:
    """Whether an invariant is promised."""
    if name == "rescaled":
        return case.target == "reals"
    if name in ("affine", "units") and case.learns:
        return False  # a rounded y may end a search elsewhere
    if name == "constant_column" and case.learns:
        return False  # priors of length scales count the columns
    if name == "writers" and not case.streams:
        return False
    return name not in case.exempt and (name != "jobs" or case.threads)


def strategy(case: Case, name: str) -> st.SearchStrategy[Table]:
    """Tables for an invariant."""
    if name == "repetition":
        return tables(w=("whole",))
    w = WEIGHTS[:2] if case.whole else WEIGHTS
    if name == "column_order":  # columns that differ by what they hold, no equidistant rows
        kinds = tuple(kind for kind in INPUTS if kind not in ("rounded", "few"))
        return tables(kinds, w=("one", "whole"), least=6)
    if name == "writers":  # rows for three parts
        return tables(w=("one",), least=9)
    if name in ("affine", "units"):  # distinct rows, no heavy weights: a condition that is known
        return tables(INPUTS[:2], TARGETS[:2], w[:2], (-3, 3), (0.0, 1.0))
    if name == "rescaled":  # constant targets have no scale
        return tables(y=tuple(kind for kind in TARGETS if kind != "constant"), w=w)
    return tables(w=w)
