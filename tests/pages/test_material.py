"""Rows that a page looks at: only they are read, as they were given, and recognised again."""

from types import SimpleNamespace

import numpy as np
import pytest
from page_cases import numbers

import collegium
from collegium.pages.budget import CLASSES, MANY_CLASSES, QUICK, SLOW, budget_of
from collegium.pages.making import drawn_rows, material_of
from collegium.pages.material import row_keys, seen_rows

GIVEN = {"exposure": None, "groups": None, "stream": False, "target": None, "rows": True}


@pytest.fixture(scope="module")
def plain():
    return numbers(n=600)


def test_the_rows_drawn_are_those_at_their_positions(plain):
    model, X, y = plain
    own = material_of(model, X, y, max_rows=40, seed=3, **GIVEN)
    assert own.n == 40 and own.n_given == 300 and np.all(np.diff(own.position) > 0)
    assert np.array_equal(own.X, X[own.position]) and np.array_equal(own.y, y[own.position])


def test_no_other_rows_of_a_frame_are_encoded(plain, monkeypatch):
    pd = pytest.importorskip("pandas")
    model, X, y = plain
    frame = pd.DataFrame(X)
    frame.columns = ["a", "b"]
    named = collegium.CommitteeRegressor(random_state=0).fit(frame[:50], y[:50])
    seen = []
    encoded = type(named.encoding_).forward
    monkeypatch.setattr(
        type(named.encoding_), "forward",
        lambda self, table: seen.append(len(table)) or encoded(self, table),
    )  # fmt: skip
    own = material_of(named, frame, y, max_rows=20, seed=0, **GIVEN)
    assert own.n == 20 and max(seen, default=0) <= 20


def test_rows_of_files_are_found_chunk_by_chunk(plain, tmp_path):
    model, X, _ = plain
    paths = []
    for k, part in enumerate(np.array_split(X, 3)):
        paths.append(tmp_path / f"{k}.csv")
        np.savetxt(paths[-1], part, delimiter=",", header="a,b", comments="", fmt="%.17g")
    source = collegium.open([str(path) for path in paths])
    some = drawn_rows(len(X), 50, False, 1)
    some[0], some[-1] = 0, 299
    assert np.array_equal(seen_rows(model, source, some, len(X)), X[some])
    with pytest.raises(ValueError, match="X has 300 rows and y has 301"):
        seen_rows(model, source, some, 301)


def test_keys_tell_rows_apart_and_know_them_again():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (60_000, 3)) + 0.0, rng.integers(0, 3, 60_000) + 0.0
    whole = np.column_stack([X, y])
    keys = row_keys(X, y)
    assert len(np.unique(keys)) == len(np.unique(whole, axis=0)) == 7**3 * 3
    assert np.array_equal(keys, row_keys(X * (1 + 1e-13), np.where(y == 0.0, -0.0, y)))
    assert not np.isin(row_keys(X + 2e-6, y), keys).any()


def test_the_longer_an_answer_takes_the_fewer_are_asked_for():
    near = SimpleNamespace(costly_means=True, answering=SimpleNamespace(cells=None))
    assert budget_of(SimpleNamespace(model_=near)) is SLOW
    with_cells = SimpleNamespace(costly_means=True, answering=SimpleNamespace(cells=object()))
    averaged = SimpleNamespace(costly_means=True, averaged=(1,), answering=near.answering)
    for own in (with_cells, averaged, SimpleNamespace(costly_means=False)):
        assert budget_of(SimpleNamespace(model_=own)) is QUICK
    assert budget_of(SimpleNamespace(model_=near, classes_=[1, 2])) is SLOW
    assert budget_of(SimpleNamespace(model_=near, classes_=range(3))) is CLASSES
    assert budget_of(SimpleNamespace(model_=near, classes_=range(12))) is MANY_CLASSES
