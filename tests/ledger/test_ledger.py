"""A ledger is its rows: any way to the same rows is the same state and the same model, bitwise."""

import json
import pickle
import sqlite3
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from sklearn.base import clone

from collegium import Chunks, Ledger, LedgerError
from collegium.kernels import Matern52
from collegium.ledger import template
from ledger.ledger_cases import (
    QUERIES,
    classified,
    counted,
    fitted,
    fresh,
    regressor,
    same_answers,
    some_rows,
)  # fmt: skip


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "own.clgdb", fitted()) as own:
        yield own


def named(k):
    return f"chunk {k}" if k % 2 else k


def filled(ledger, numbers, n=25):
    for k in numbers:
        ledger.add(*some_rows(k, n), id=named(k), source="lab" if k % 3 else "field")
    return ledger


def test_the_model_is_that_of_partial_fit_in_any_order(ledger):
    filled(ledger, range(6))
    other = fitted().blank()
    for k in (3, 0, 5, 1, 4, 2):
        other.partial_fit(*some_rows(k), chunk_id=named(k))
    assert same_answers(ledger.model(), other)
    assert ledger.model().chunk_ids_ == other.chunk_ids_
    assert ledger.model().log_evidence_ == other.log_evidence_


def test_the_model_is_a_copy(ledger):
    one = filled(ledger, range(3)).model()
    one.partial_fit(*some_rows(50))
    assert not same_answers(one, ledger.model())
    assert same_answers(ledger.model(), ledger.model())


def test_rows_correct_predictions_locally(ledger):
    filled(ledger, range(8))
    X, y = some_rows(3)
    plain = ledger.model().set_params(n_local=0)
    near, far = (
        one.predict(X, level="function", return_std=True)[1] for one in (ledger.model(), plain)
    )
    assert ledger.model().n_local_ == 15 and (near < far).all()


def test_order_and_process_do_not_matter(ledger, tmp_path):
    filled(ledger, range(5))
    code = (
        "import sys; from ledger.ledger_cases import Ledger, fitted, some_rows;"
        "own = Ledger(sys.argv[1], fitted());"
        "[own.add(*some_rows(k), id=f'chunk {k}' if k % 2 else k) for k in (4, 2, 0, 3, 1)];"
        "print(own.state)"
    )
    tests = Path(__file__).resolve().parents[1]
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "other.clgdb")], capture_output=True, text=True,
        check=True, cwd=tests,
    )  # fmt: skip
    assert out.stdout.strip() == ledger.state


def test_an_id_is_added_once(ledger):
    X, y = some_rows(1)
    lsn, state = ledger.add(X, y, id="a"), ledger.state
    assert ledger.add(X.tolist(), list(y), id="a") == lsn
    assert (ledger.lsn, ledger.state) == (lsn, state)
    with pytest.raises(ValueError, match="chunk of other rows"):
        ledger.add(X, y + 1e-9, id="a")
    with pytest.raises(ValueError, match="chunk of other rows"):
        ledger.add(X, y, id="a", sample_weight=np.full(25, 2.0))
    assert ledger.state == state
    ledger.add(X, y, id="b")
    assert ledger.n_rows == 50


def test_the_number_one_and_the_text_one_are_two_chunks(ledger):
    ledger.add(*some_rows(1), id=1)
    ledger.add(*some_rows(2), id="1")
    ledger.forget("1")
    assert [one.id for one in ledger.chunks()] == [1]


def random_walk(path, seed, steps):
    """Random changes; chunks that should be there at the end, and after each event."""
    rng, names = np.random.default_rng(seed), iter(range(1000))
    own, there, history = Ledger(path, fitted(), keep=["who"]), {}, [{}]

    def new(n=12):
        k = int(rng.integers(10**6))
        return *some_rows(k, n), {"who": rng.integers(0, 5, size=n).tolist()}

    for _ in range(steps):
        ids, verb = (
            [*there],
            rng.choice(["add", "add", "forget", "rows", "where", "replace", "merge"]),
        )
        if verb == "add" or not ids:
            id = next(names) if rng.random() < 0.5 else f"n{next(names)}"
            there[id] = new()
            X, y, kept = there[id]
            own.add(X, y, id=id, kept=kept)
        elif verb == "forget":
            gone = [ids[k] for k in rng.choice(len(ids), min(2, len(ids)), replace=False)]
            own.forget(gone)
            there = {id: part for id, part in there.items() if id not in gone}
            history = [{i: p for i, p in one.items() if i not in gone} for one in history]
        elif verb == "rows":
            id = ids[rng.integers(len(ids))]
            old = there[id]
            at = rng.choice(len(old[1]), min(3, len(old[1]) - 1), replace=False).tolist()
            if at:
                own.forget(rows={id: at})
                there[id] = left = without(old, at)
                # earlier versions of the chunk are erased as a whole
                history = [
                    {i: left if i == id else p for i, p in one.items() if i != id or p is old}
                    for one in history
                ]
        elif verb == "where":
            value = int(rng.integers(5))
            own.forget(where=f"who = {value}")
            known = {}

            def less(part, known=known, value=value):
                at = [i for i, one in enumerate(part[2]["who"]) if one == value]
                return known.setdefault(id_of(part), without(part, at))

            there = {id: less(part) for id, part in there.items()}
            there = {id: part for id, part in there.items() if len(part[1])}
            history = [{i: less(p) for i, p in one.items()} for one in history]
            history = [{i: p for i, p in one.items() if len(p[1])} for one in history]
        elif verb == "replace":
            id = ids[rng.integers(len(ids))]
            there = {**there, id: new(9)}
            X, y, kept = there[id]
            own.replace(id, X, y, kept=kept)
        else:
            with Ledger(f"{path}-{next(names)}", fitted(), keep=["who"]) as other:
                more = {f"m{next(names)}": new() for _ in range(rng.integers(3))}
                for id, (X, y, kept) in more.items():
                    other.add(X, y, id=id, kept=kept)
                own.merge(other)
            there = {**there, **more}
        while len(history) <= own.lsn:
            history.append(dict(there))
    return own, there, history


def id_of(part):
    return id(part)


def without(part, at):
    X, y, kept = part
    stay = np.setdiff1d(np.arange(len(y)), at)
    return X[stay], y[stay], {"who": [kept["who"][i] for i in stay]}


def check_walk(folder, seed, steps=12):
    own, there, history = random_walk(folder / f"w{seed}.clgdb", seed, steps)
    with own:
        rng = np.random.default_rng(seed)
        order = [*there]
        rng.shuffle(order)
        with fresh(folder / f"f{seed}.clgdb", {id: there[id] for id in order}, keep=["who"]) as new:
            assert own.state == new.state
            assert same_answers(own.model(), new.model())
        lsn = int(rng.integers(own.lsn + 1))
        with fresh(folder / f"h{seed}.clgdb", history[lsn], keep=["who"]) as then:
            assert same_answers(own.as_of(lsn), then.model())
        with Ledger(
            folder / f"w{seed}.clgdb"
        ) as reader:  # from the stored sum, and what came since
            assert reader.state == own.state
        assert own.verify()["state"] == own.state
    with Ledger(folder / f"w{seed}.clgdb") as again:
        assert again.state == own._now.hash


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_are_a_fresh_build_of_what_is_left(tmp_path, seed, monkeypatch):
    monkeypatch.setattr("collegium.ledger.ledger.TAIL", 2)
    check_walk(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_sequences_of_random_changes(tmp_path, part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        check_walk(tmp_path, seed, 10)


def test_forgetting_is_never_having_heard(ledger, tmp_path):
    filled(ledger, range(6))
    done = ledger.forget([2, "chunk 3"], reason="asked")
    with Ledger(tmp_path / "fresh.clgdb", fitted()) as other:
        filled(other, (0, 1, 4, 5))
        assert ledger.state == other.state == done.after
        assert same_answers(ledger.model(), other.model())
    assert (done.rows, done.chunks) == (50, (2, "chunk 3"))
    assert done.erased and not done.rebuilt and ledger.certify().rebuilt
    with pytest.raises(ValueError, match="not chunks of this ledger"):
        ledger.forget(2)
    with pytest.raises(ValueError, match="positions from 0 to 24"):
        ledger.forget(rows={0: [25]})
    with pytest.raises(ValueError, match="give one of"):
        ledger.forget()


def test_everything_can_be_forgotten(ledger):
    empty = ledger.state
    filled(ledger, range(2))
    ledger.forget([0, "chunk 1"])
    assert ledger.state == empty and ledger.n_rows == 0
    mean, std = ledger.model().predict(QUERIES, return_std=True)
    prior, wide = fitted().blank().predict(QUERIES, return_std=True)
    assert np.array_equal(mean, prior) and np.array_equal(std, wide)


def test_replacing_is_having_had_the_other_rows(ledger, tmp_path):
    filled(ledger, range(4))
    X, y = some_rows(77, 31)
    lsn = ledger.replace(2, X, y, reason="revised")
    with fresh(
        tmp_path / "f.clgdb", {**{named(k): some_rows(k) for k in (0, 1, 3)}, 2: (X, y)}
    ) as b:
        assert ledger.state == b.state
    assert ledger.replace(2, X, y) == lsn and ledger.lsn == lsn
    with Ledger(tmp_path / "old.clgdb", fitted()) as old:
        assert same_answers(ledger.as_of(lsn - 1), filled(old, range(4)).model())
    ledger.forget(2)
    assert ledger.verify()["earlier versions"] == 0
    with pytest.raises(ValueError, match="not chunks"):
        ledger.replace("none", X, y)


def test_the_model_as_of_a_date(ledger, tmp_path):
    for day in (3, 4, 7):
        ledger.add(*some_rows(day), id=day, at=datetime(2030, 1, day, 9, tzinfo=UTC))
    with fresh(tmp_path / "f.clgdb", {k: some_rows(k) for k in (3, 4)}) as other:
        for when in (date(2030, 1, 4), "2030-01-05", datetime(2030, 1, 6), 2):
            assert same_answers(ledger.as_of(when), other.model())
    assert same_answers(ledger.as_of("2031-01-01"), ledger.model())
    with pytest.raises(ValueError, match="before this ledger began"):
        ledger.as_of("1999-01-01")
    with pytest.raises(ValueError, match="numbered from 0 to 3"):
        ledger.as_of(4)
    with pytest.raises(ValueError, match="before the last event"):
        ledger.add(*some_rows(8), at="2030-01-06")
    with pytest.raises(ValueError, match="ISO 8601"):
        ledger.as_of("yesterday")


def test_a_replaced_chunk_counts_until_the_event_that_replaced_it(ledger, tmp_path):
    ledger.add(*some_rows(1), id=1)
    ledger.replace(1, *some_rows(2))
    for lsn, seed in ((1, 1), (2, 2)):
        with fresh(tmp_path / f"{lsn}.clgdb", {1: some_rows(seed)}) as then:
            assert same_answers(ledger.as_of(lsn), then.model())


def test_time_does_not_run_backwards(ledger, monkeypatch):
    """A clock that was set back neither reorders events nor changes earlier models."""
    ledger.add(*some_rows(1), id=1)
    last = ledger.events()[-1].at
    monkeypatch.setattr("collegium.ledger.core.now", lambda: "2001-01-01 00:00:00.000000")
    ledger.add(*some_rows(2), id=2)
    ledger.forget(1)
    assert [one.at for one in ledger.events()[2:]] == [last, last]
    assert same_answers(ledger.as_of(last), ledger.model())


def test_a_copy_is_a_ledger_of_its_own(ledger, tmp_path):
    filled(ledger, range(3))
    ledger.copy_to(tmp_path / "copy.clgdb")
    state = ledger.state
    ledger.forget(0)
    with Ledger(tmp_path / "copy.clgdb") as copy:
        assert copy.verify()["state"] == copy.state == state
        copy.forget(0)
        assert copy.state == ledger.state
    with pytest.raises(FileExistsError):
        ledger.copy_to(tmp_path / "copy.clgdb")


def test_sites_merge_in_any_order_and_grouping(tmp_path):
    sites = {}
    for k, name in enumerate(("north", "south", "west")):
        sites[name] = Ledger(tmp_path / f"{name}.clgdb", fitted(), site=name)
        for j in range(k + 1):
            sites[name].add(*some_rows(10 * k + j))
    states = []
    for order in (("north", "south", "west"), ("west", "north", "south")):
        with Ledger(tmp_path / f"{order[0]} first.clgdb", fitted()) as hub:
            for name in order:
                hub.merge(sites[name])
            assert {one.site for one in hub.chunks()} == set(sites)
            assert hub.verify()["rows"] == 150
            states.append(hub.state)
    sites["west"].merge(sites["south"])
    sites["west"].merge(sites["north"])
    assert {*states} == {sites["west"].state}
    for one in sites.values():
        one.close()


def test_merging_names_what_differs(ledger, tmp_path):
    filled(ledger, range(2))
    state = ledger.state
    others = {
        "noise": fitted(noise=0.08), "kernel": fitted(kernel=Matern52(1.4, [1.7, 2.7])),
        "anchors": fitted(anchors=9), "kind of model": classified(), "kind of X or y": None,
        "one of them has none": regressor(),
    }  # fmt: skip
    for words, model in others.items():
        with Ledger(tmp_path / f"{words}.clgdb", fitted() if model is None else model) as other:
            if words == "kind of X or y":
                other.add(some_rows(1)[0], some_rows(1)[1][:, None], id="x")
            with pytest.raises(ValueError, match=words):
                ledger.merge(other)
    assert ledger.state == state


def test_chunks_of_both_count_once_and_others_under_their_names_are_refused(ledger, tmp_path):
    filled(ledger, range(3))
    with (
        Ledger(tmp_path / "b.clgdb", fitted()) as other,
        Ledger(tmp_path / "e.clgdb", fitted()) as no,
    ):
        filled(other, range(2, 5))
        ledger.merge(other)
        with Ledger(tmp_path / "c.clgdb", fitted()) as both:
            assert ledger.state == filled(both, range(5)).state
        state, lsn = ledger.state, ledger.lsn
        ledger.merge(no)
        assert (ledger.state, ledger.lsn) == (state, lsn + 1)
        other.replace(2, *some_rows(60))
        with pytest.raises(ValueError, match="different rows"):
            ledger.merge(other)
        assert ledger.state == state


def test_relearning_is_a_ledger_that_never_had_the_forgotten_rows(tmp_path):
    """Kernel, noise, anchors and errors included: nothing is left of the forgotten rows."""
    asked = regressor(kernel=None, noise="auto", learn=True, anchors=8, random_state=7)
    chunks = {k: some_rows(k, 40) for k in range(4)}
    with fresh(tmp_path / "a.clgdb", chunks, asked) as own:
        assert own.basis_id == ""
        own.relearn()
        known = own.basis_id
        done = own.forget(3)
        assert {"kernel", "anchors", "scaling of y", "noise or likelihood"} <= set(done.remembers)
        assert own.basis_id == known
        own.relearn()
        assert own.certify().remembers == () and "nothing" in str(own.certify())
        with fresh(tmp_path / "b.clgdb", {k: chunks[k] for k in (2, 0, 1)}, asked) as other:
            other.relearn()
            assert (own.state, own.basis_id) == (other.state, other.basis_id)
            assert same_answers(own.model(), other.model())
        assert own.basis_id != known


def test_the_basis_remembers_earlier_versions_of_a_chunk_and_no_later_chunks(tmp_path):
    chunks = {k: some_rows(k, 40) for k in range(3)}
    with fresh(tmp_path / "a.clgdb", chunks, regressor(random_state=None)) as own:
        own.relearn()
        own.replace(0, *some_rows(9, 40))
        own.add(*some_rows(8), id="later")
        assert own.forget("later").remembers == () == own.certify().remembers
        assert "kernel" in own.forget(0).remembers and "kernel" in own.certify().remembers
        assert own.certify(own.lsn - 1).remembers == ()
        assert own.model().random_state == 0  # the same rows are always the same model


def test_without_a_basis_the_model_is_fitted_to_all_rows(tmp_path):
    asked = regressor(chunks="auto")
    with fresh(tmp_path / "a.clgdb", {k: some_rows(k) for k in range(3)}, asked) as own:
        X, y = (np.concatenate(part) for part in zip(*(some_rows(k) for k in range(3))))
        assert same_answers(own.model(), clone(asked).fit(X, y))
        own.relearn()  # one exact Gaussian process: there are no anchors
        assert own.basis_id == "" and same_answers(own.model(), clone(asked).fit(X, y))
        done = own.forget(1)
        assert done.remembers == () and "complete" in done.exactness
        some = [some_rows(k) for k in (0, 2)]
        X, y = (np.concatenate(part) for part in zip(*some))
        assert same_answers(own.model(), clone(asked).fit(X, y))
    with Ledger(tmp_path / "b.clgdb", asked) as none, pytest.raises(ValueError, match="no rows"):
        none.model()


def test_only_rows_that_the_basis_was_learnt_with_are_remembered(tmp_path):
    model = fitted()
    X, y = some_rows(100, 60)
    with Ledger.of(model, X, y, path=tmp_path / "a.clgdb", ids=np.arange(60) // 20) as own:
        own.add(*some_rows(1), id="later")
        assert own.forget("later").remembers == ()
        assert "anchors" in own.forget(rows={1: [0, 2]}).remembers
    with Ledger(tmp_path / "b.clgdb", model) as other:
        other.add(*some_rows(1), id="a")
        assert "perhaps kernel" in other.forget("a").remembers


def test_a_fitted_model_becomes_a_ledger_in_one_line(tmp_path):
    X, y = some_rows(100, 60)
    with Ledger.of(fitted(), X, y, path=tmp_path / "a.clgdb") as own:
        assert own.basis_id == fitted().basis_id_ and own.n_rows == 60
        mean, std = own.model().predict(QUERIES, return_std=True)
        known, wide = fitted().predict(QUERIES, return_std=True)
        np.testing.assert_allclose(mean, known, atol=0.02)
        np.testing.assert_allclose(std, wide, rtol=0.05)
    with pytest.raises(ValueError, match="exists"):
        Ledger.of(fitted(), X, y, path=tmp_path / "a.clgdb")
    with pytest.raises(ValueError, match="total weight of 59"):
        Ledger.of(fitted(), X[1:], y[1:], path=tmp_path / "b.clgdb")
    with pytest.raises(ValueError, match="one per row"):
        Ledger.of(fitted(), X, y, path=tmp_path / "b.clgdb", ids=[1, 2])
    assert not list(tmp_path.glob("b.*"))


@pytest.mark.parametrize("cut", [lambda labels: labels, lambda labels: Chunks(20, labels)])
def test_the_labels_of_a_fit_become_ids(tmp_path, cut):
    X, y = some_rows(100, 60)
    labels = np.arange(60) % 3
    model = regressor(chunks=cut(labels)).fit(X, y)
    with Ledger.of(model, X, y, path=tmp_path / "a.clgdb", ids=labels) as own:
        own.forget(1)
        own.relearn()
        assert [one.id for one in own.chunks()] == [0, 2] and own.verify()["rows"] == 40


def test_models_by_group_are_those_of_their_rows_alone(tmp_path):
    rng = np.random.default_rng(4)
    chunks = {k: (*some_rows(k), {"who": rng.integers(0, 3, size=25).tolist()}) for k in range(4)}
    with fresh(tmp_path / "a.clgdb", chunks) as own:
        found = own.by("who")
        assert sorted(found) == [0, 1, 2]
        for value, model in found.items():
            some = {
                k: without(part, [i for i, one in enumerate(part[2]["who"]) if one != value])
                for k, part in chunks.items()
            }
            with fresh(tmp_path / f"{value}.clgdb", some) as alone:
                assert same_answers(model, alone.model())
        assert list(own.by("who", [2])) == [2]
        assert sorted(own.by("id")) == [0, 1, 2, 3]
        with pytest.raises(ValueError, match="not a column"):
            own.by("nobody")
        with pytest.raises(ValueError, match="not in the column"):
            own.by("who", [9])


def test_explaining_leaves_each_source_out(ledger, tmp_path):
    filled(ledger, range(5))
    found = ledger.explain(QUERIES)
    assert set(found.values) == {"lab", "field"}
    for k, value in enumerate(found.values):
        others = [j for j in range(5) if (value == "lab") != bool(j % 3)]
        with Ledger(tmp_path / f"{value}.clgdb", fitted()) as rest:
            mean, std = filled(rest, others).model().predict(QUERIES, return_std=True)
        assert np.array_equal(found.means[k], mean) and np.array_equal(found.stds[k], std)
        assert np.array_equal(found.changes[k], ledger.model().predict(QUERIES) - mean)
    moved = np.abs(found.changes).max(axis=1)
    assert moved[0] >= moved[1] and "lab" in str(found)
    assert ledger.explain(QUERIES, by="id").means.shape == (5, 7)


def test_other_likelihoods_do_not_depend_on_the_way_either(tmp_path):
    rng = np.random.default_rng(8)
    rows = {k: some_rows(k) for k in range(4)}
    cases = {
        "counts": (counted(), {k: (X, rng.poisson(np.exp(f))) for k, (X, f) in rows.items()}),
        "labels": (classified(), {k: (X, np.where(f > 0.3, "high", "low"))
                                  for k, (X, f) in rows.items()}),
    }  # fmt: skip
    for name, (model, chunks) in cases.items():
        with fresh(tmp_path / f"{name}.clgdb", chunks, model) as own:
            state = own.state
            done = own.forget([1, 2])
            own.add(*chunks[2], id=2)
            assert "found anew" in done.exactness
            some = {k: chunks[k] for k in (3, 2, 0)}
            with fresh(tmp_path / f"{name} b.clgdb", some, model) as other:
                assert own.state == other.state != state
                assert same_answers(own.model(), other.model())
                assert own.verify()["rows"] == 75 and own.export()["coverage"]["rows"] > 0
                assert own.explain(QUERIES, by="id").means.shape[0] == 3
    one, two = counted().blank(), counted().blank()
    for k in (0, 2, 3):
        (two if k else one).partial_fit(*cases["counts"][1][k], chunk_id=k)
    known = one.merge(two).predict(QUERIES)  # which approximates all again until they rest
    with fresh(
        tmp_path / "c.clgdb", {k: cases["counts"][1][k] for k in (0, 2, 3)}, counted()
    ) as own:
        np.testing.assert_allclose(own.model().predict(QUERIES), known, rtol=1e-3)


def test_exposures_and_weights_count(tmp_path):
    X, f = some_rows(3)
    y, e = np.random.default_rng(0).poisson(3 * np.exp(f)), np.full(25, 3.0)
    with (
        Ledger(tmp_path / "a.clgdb", counted()) as own,
        Ledger(tmp_path / "b.clgdb", fitted()) as two,
    ):
        own.add(X, y, exposure=e, id=0)
        other = counted().blank().partial_fit(X, y, exposure=e, chunk_id=0)
        other.merge(counted().blank())  # until messages rest
        found, known = (one.predict(QUERIES, exposure=1.0) for one in (own.model(), other))
        np.testing.assert_allclose(found, known, rtol=1e-3)
        two.add(X, f, sample_weight=np.full(25, 2.0), id="a")
        known = fitted().blank().partial_fit(X, f, np.full(25, 2.0), chunk_id="a")
        assert same_answers(two.model(), known)
        with pytest.raises(ValueError, match="exposure"):
            two.add(X, f, exposure=e)


def test_intervals_with_a_guarantee_stay_valid(tmp_path):
    """Calibration rows are never in a ledger; scores are those of the rows that are left."""
    asked = fitted(n_local=5)
    X, y = some_rows(300, 40)
    with fresh(tmp_path / "a.clgdb", {k: some_rows(k) for k in range(5)}, asked) as own:
        own.forget(1)
        own.replace(2, *some_rows(12))
        with fresh(tmp_path / "b.clgdb", {3: some_rows(3)}, asked) as rest:
            rest.add(*some_rows(4), id=4)
            rest.add(*some_rows(0), id=0)
            with fresh(tmp_path / "c.clgdb", {2: some_rows(12)}, asked) as other:
                rest.merge(other)
            one, two = own.model(), rest.model()
    assert not hasattr(one, "conformal_")
    for method in ("cv+", "split"):
        if method == "split":
            one.calibrate(X, y)
            two.calibrate(X, y)
        found, known = (m.predict_interval(QUERIES, 0.8, method=method) for m in (one, two))
        np.testing.assert_array_equal(found, known)


def test_bad_rows_change_nothing(ledger):
    filled(ledger, range(2))
    state, lsn = ledger.state, ledger.lsn
    X, y = some_rows(5)
    bad = {
        "3 inputs": (np.zeros((4, 3)), np.zeros(4)), "NaN": (X, np.full(25, np.nan)),
        "shape": (X, y[:-1]), "y is missing": (X, None), "infinite|infinity": (X + np.inf, y),
        "texts": (X, ["a"] * 25), "None": (X, [None] * 25), "labels": (X, np.zeros(25, "M8[s]")),
        "column names": ([{}] * 25, y), "in 2 columns": (X, np.zeros((25, 2))),
    }  # fmt: skip
    for words, (rows, targets) in bad.items():
        with pytest.raises(ValueError, match=words):
            ledger.add(rows, targets)
    for asked in (
        {"id": -1},
        {"id": 2**63},
        {"id": "\ud800"},
        {"id": 1.5},
        {"source": 3},
        {"at": "soon"},
        {"reason": None},
    ):
        with pytest.raises(ValueError, match=next(iter(asked))):
            ledger.add(X, y, **asked)
    assert (ledger.state, ledger.lsn) == (state, lsn)


def test_columns_of_tables_are_inputs_targets_or_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng, days = np.random.default_rng(2), pandas.date_range("2030-01-01", periods=60)

    def table(seed, n=60):
        X, y = some_rows(seed, n)
        words = np.array(["Rome", "Oslo", "Lima"])[np.random.default_rng(seed).integers(3, size=n)]
        return pandas.DataFrame({
            "yield": y, "customer": rng.integers(1, 4, size=n), "a": X[:, 0], "town": words,
            "b": X[:, 1], "day": days,
        })  # fmt: skip

    first, more = table(0), table(1)
    inputs = ["a", "town", "b"]
    model = regressor(kernel=None, anchors=10, learn=True, noise="auto").fit(
        first[inputs], first["yield"]
    )
    with Ledger(tmp_path / "a.clgdb", model, target="yield") as own:
        own.add(first, id=0)
        own.add(more, id=1)
        other = model.blank()
        other.partial_fit(more[inputs], more["yield"], chunk_id=1)
        other.partial_fit(first[inputs], first["yield"], chunk_id=0)
        assert same_answers(own.model(), other, more[inputs])
        gone = int((first.customer == 2).sum() + (more.customer == 2).sum())
        assert own.forget(where="customer = 2").rows == gone
        assert own.forget(where="customer = 1 and day < '2030-01-11'").rows == int(
            (first.customer[:10] == 1).sum() + (more.customer[:10] == 1).sum()
        )
        with pytest.raises(ValueError, match="no columns"):
            own.add(first.drop(columns="town"))
        with pytest.raises(ValueError, match="no column names"):
            own.add(some_rows(0)[0], some_rows(0)[1])
        own.relearn()
        left = own.n_rows
        own.add(first.to_dict("records"), id="dicts")
        assert own.n_rows == left + 60
        own.verify()
    with Ledger(
        tmp_path / "b.clgdb", clone(model), target="yield", keep=["customer", "day"]
    ) as own:
        own.add(first)
        both = clone(model).fit(first[inputs], first["yield"])
        assert same_answers(own.model(), both, more[inputs])


@pytest.mark.parametrize("way", ["of", "begun"])
def test_inputs_are_those_of_a_fitted_model_without_anchors_too(tmp_path, way):
    """One exact Gaussian process is fitted again, to the columns that it had."""
    X, y = some_rows(3, 40)
    table = [{"a": a, "customer": k % 4, "b": b, "y": v} for k, ((a, b), v) in enumerate(zip(X, y))]
    inputs = [{"a": one["a"], "b": one["b"]} for one in table]
    model = regressor(chunks="auto").fit(inputs, y)
    path = tmp_path / "a.clgdb"
    if way == "of":
        own = Ledger.of(model, table, path=path, target="y")
    else:
        own = Ledger(path, model, target="y")
        own.add(table)
    with own:
        assert own.columns == ("a", "b", "y", "customer")
        assert same_answers(own.model(), model, inputs)
        assert own.forget(where="customer = 2").rows == 10


def test_large_numbers_and_gaps_are_kept_exactly(tmp_path):
    names = [2**62 + 1, np.int64(2**62 + 2), None, 5, 5]
    with Ledger(tmp_path / "a.clgdb", fitted()) as own:
        own.add(*some_rows(0, 5), id=0, kept={"who": np.array(names, dtype=object)})
        assert own.forget(where=f"who = {2**62 + 1}").rows == 1
        assert own.forget(where=f"who = {2**62 + 2}").rows == 1
        assert own.forget(where="who is null").rows == 1
        assert own.verify()["rows"] == 2
        assert own.add(*some_rows(1, 2), id=1, kept={"who": [-0.0, 1e300]}) == own.lsn
        assert own.forget(where="who = 0 or who > 1e299").rows == 2


def test_several_changes_together_are_one_step(ledger):
    filled(ledger, range(2))
    state, lsn = ledger.state, ledger.lsn
    with pytest.raises(RuntimeError, match="stop"), ledger.together():
        filled(ledger, range(2, 5))
        ledger.forget(0)
        raise RuntimeError("stop")
    ledger.add(*some_rows(2), id=2)  # it is not there
    assert (ledger.lsn, ledger.n_rows) == (lsn + 1, 75)
    ledger.forget(2)
    assert (ledger.state, ledger.lsn, ledger.n_rows) == (state, lsn + 2, 50)
    with ledger.together():
        ledger.add(*some_rows(7), id=7)
        with pytest.raises(ValueError, match="not chunks"):
            ledger.forget("nobody")
        ledger.forget(0)
    assert ledger.lsn == lsn + 4 and ledger.verify()["rows"] == 50 and ledger.certify().erased


def test_threads_take_turns(ledger, tmp_path):
    def work(first):
        for k in range(first, 12, 4):
            ledger.add(*some_rows(k), id=named(k))
            ledger.model().predict(QUERIES)
            ledger.forget(rows={named(k): [0]})

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    chunks = {named(k): tuple(part[1:] for part in some_rows(k)) for k in range(12)}
    with fresh(tmp_path / "f.clgdb", chunks) as other:
        assert ledger.verify()["state"] == other.state


def test_opening_adds_up_what_came_since_the_sum_was_stored(tmp_path, monkeypatch):
    path, sent = tmp_path / "a.clgdb", []
    own = filled(Ledger(path, fitted()), range(5))
    state = own.state
    own._db.close()  # as a process that is killed leaves it: the sum is not stored
    real = template.heard

    def heard(estimator, named, start=None):
        sent.extend(named)
        return real(estimator, named, start)

    monkeypatch.setattr(template, "heard", heard)
    monkeypatch.setattr("collegium.ledger.ledger.TAIL", 3)
    with Ledger(path) as again:
        assert again.state == state and len(sent) == 5
        filled(again, range(5, 10))
        state, stored = again.state, again._stored
        again._db.close()
    assert stored == 9
    sent.clear()
    with Ledger(path) as again:
        assert again.state == state and len(sent) == 1
        again.add(*some_rows(30))
    sent.clear()
    with Ledger(path) as again:  # it was closed, which stores the sum
        assert again.n_rows == 11 * 25 and not sent


def test_audit_records_can_be_checked_without_the_ledger(ledger, tmp_path):
    filled(ledger, range(5))
    ledger.forget(2, reason="asked")
    said = ledger.export(tmp_path / "audit.json")
    read = json.loads((tmp_path / "audit.json").read_text())
    assert read == json.loads(json.dumps(said))
    assert [one["kind"] for one in read["events"]] == ["begin", *["add"] * 5, "forget"]
    assert {one["sha256"] for one in read["chunks"]} == {
        one["detail"]["chunks"][0]["sha256"] for one in read["events"]
        if one["kind"] == "add" and one["detail"]["chunks"][0]["id"] != 2
    }  # fmt: skip
    assert read["coverage"]["promised"] == 0.95 and 0.6 < read["coverage"]["covered"] <= 1.0
    assert ledger.verify(head=read["head"])["head"] == ledger.head
    with pytest.raises(LedgerError, match="rewritten"):
        ledger.verify(head="0" * 64)


def test_coverage_is_that_of_rows_that_the_model_has_not_seen(tmp_path):
    rng, held = np.random.default_rng(1), np.arange(2, 25, 5)
    chunks = {k: some_rows(k) for k in range(5)}
    chunks = {k: (X, y + 0.5 * rng.normal(size=25)) for k, (X, y) in chunks.items()}
    rest = {k: tuple(np.delete(part, held, axis=0) for part in own) for k, own in chunks.items()}
    model = fitted(noise=0.002)  # it follows the rows that it sees
    a, b = (fresh(tmp_path / f"{len(one[0][1])}.clgdb", one, model) for one in (chunks, rest))
    with a as own, b as other:
        found = own.export()["coverage"]
        X, y = (np.concatenate([own[i][held] for own in chunks.values()]) for i in (0, 1))
        lower, upper = other.model().predict_interval(X, coverage=0.95)
    covered = float(np.mean((lower <= y) & (y <= upper)))
    assert found == {"chunks": 5, "rows": 25, "promised": 0.95, "covered": covered}
    assert covered < 0.9


def test_the_state_of_another_processor_is_added_up_again(tmp_path, monkeypatch):
    path = tmp_path / "a.clgdb"
    with filled(Ledger(path, fitted()), range(3)) as own:
        state = own.state
    monkeypatch.setattr("collegium.ledger.core.probe", lambda: "another")
    with Ledger(path) as other:
        assert same_answers(other.model(), other.model())
        other.add(*some_rows(5), id=5)
        assert [one.kind for one in other.events()][-2:] == ["rebuild", "add"]
        other.forget(5)
        assert other.state == state


def test_arguments_of_an_existing_ledger(ledger, tmp_path):
    path = tmp_path / "own.clgdb"
    assert Ledger(path, fitted()).state == ledger.state
    with pytest.raises(ValueError, match="exists, with a CommitteeRegressor"):
        Ledger(path, classified())
    with pytest.raises(ValueError, match="target"):
        Ledger(path, target="y")
    with pytest.raises(FileNotFoundError, match="give a model"):
        Ledger(tmp_path / "none.clgdb")
    with pytest.raises(ValueError, match="CommitteeRegressor or a"):
        Ledger(tmp_path / "none.clgdb", object())
    with pytest.raises(ValueError, match="store"):
        Ledger(tmp_path / "none.clgdb", regressor(store="x"))
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(ledger)
    assert "own.clgdb" in repr(ledger)


def test_a_ledger_that_was_never_filled_is_begun_again(tmp_path, monkeypatch):
    """A kill while it is made leaves an empty database."""
    path = tmp_path / "a.clgdb"
    con = sqlite3.connect(path)
    con.execute("PRAGMA journal_mode = WAL")
    con.close()
    assert path.stat().st_size > 0
    with pytest.raises(FileNotFoundError):
        Ledger(path)
    with monkeypatch.context() as few, pytest.raises(ValueError, match="at most 50"):
        few.setattr("collegium.ledger.adding.MOST_ROWS", 50)  # it fails in the midst of the rows
        X, f = some_rows(101, 80)
        y = np.random.default_rng(5).poisson(np.exp(f))  # those of `counted`
        Ledger.of(counted(), X, y, path=path, ids=["a"] * 40 + ["b"] * 40)
    X, y = some_rows(100, 60)
    with pytest.raises(FileNotFoundError):
        Ledger(path)
    with Ledger.of(fitted(), X, y, path=path, ids=["a"] * 30 + ["b"] * 30) as own:
        assert own.verify()["rows"] == 60


def test_a_ledger_that_is_not_closed_gives_up_its_lock_with_its_last_reference(tmp_path):
    own = filled(Ledger(tmp_path / "a.clgdb", fitted()), range(2))
    del own
    with Ledger(tmp_path / "a.clgdb") as other:
        assert filled(other, range(3)).n_rows == 75


def test_too_many_rows_are_refused_where_all_have_to_be_in_memory(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("collegium.ledger.adding.MOST_ROWS", 60)
    with Ledger(tmp_path / "a.clgdb", regressor()) as other:
        filled(other, range(2))
        with pytest.raises(ValueError, match="at most 60 rows"):
            other.add(*some_rows(5))
        assert other.n_rows == 50
    filled(ledger, range(3))
    state = ledger.state
    with pytest.raises(LedgerError, match="at most 60, and there are 75: fit a model"):
        ledger.relearn()
    assert ledger.state == state == ledger.verify()["state"]


def test_models_without_rows_answer_from_the_sum(tmp_path):
    model = fitted(n_local=0)
    with filled(Ledger(tmp_path / "a.clgdb", model), range(4)) as own:
        own.forget(2)
        other = model.blank()
        for k in (0, 1, 3):
            other.partial_fit(*some_rows(k), chunk_id=named(k))
        assert same_answers(own.model(), other)


def test_chunks_that_are_added_together_are_one_event_and_leave_the_state_of_single_ones(tmp_path):
    rows = {f"c{k}": some_rows(k, 9 + k) for k in range(4)}
    one = fresh(tmp_path / "one.clgdb", rows)
    with one, Ledger(tmp_path / "all.clgdb", fitted()) as own:
        batches = [{"X": X, "y": y, "id": id} for id, (X, y) in rows.items()]
        assert own.add_all(batches) == [1] * 4 and own.lsn == 1
        assert own.state == one.state and same_answers(own.model(), one.model())
        assert own.add_all(batches) == [1] * 4 and own.lsn == 1  # they are there
        refused = {}
        batches = [
            {"X": X, "y": y, "id": id} for id, (X, y) in (("c0", rows["c1"]), ("e", rows["c1"]))
        ]
        batches += [{"X": [[np.nan]], "y": [1.0]}, dict(batches[1])]
        assert own.add_all(batches, refused=refused) == [-1, 2, -1, 2]
        assert sorted(refused) == [0, 2] and "other rows" in str(refused[0])
        before = own.state
        with pytest.raises(ValueError, match="other rows"):
            own.add_all([{"X": rows["c1"][0], "y": rows["c1"][1], "id": "f"}, batches[0]])
        assert (own.state, own.lsn) == (before, 2)
        assert own.verify()["state"] == before


def test_a_model_of_rows_that_were_cut_before_is_that_of_a_ledger_opened_anew(tmp_path):
    path = tmp_path / "cut.clgdb"
    with fresh(path, {f"c{k}": some_rows(k) for k in range(4)}) as own:
        own.model()
        own.forget(rows={"c1": [2, 5]})
        own.replace("c2", *some_rows(20, 7))
        model, lsn = own.model_and_lsn()
        assert lsn == own.lsn == 6
        with Ledger(path) as other:
            assert same_answers(model, other.model())
        own.relearn()
        with Ledger(path) as other:
            assert same_answers(own.model(), other.model())
