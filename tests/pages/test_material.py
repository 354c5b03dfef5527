"""Rows that a page looks at: only they are read, as they were given, and recognised again."""

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
    assert np.array_equal(keys, row_keys(X * (1 + 1e-13), -(-y)))
    assert not np.isin(row_keys(X * (1 + 1e-6) + 1e-6, y), keys).any()


def test_the_dearer_an_answer_the_fewer_are_asked_for(plain):
    from page_cases import counts, labels

    assert budget_of(plain[0]) is SLOW or budget_of(plain[0]) is QUICK
    assert budget_of(labels(["no", "yes"])[0]) in (QUICK, SLOW)
    assert budget_of(labels(list("abcd"))[0]) is CLASSES
    model = counts(400)[0]
    alone = model.model_.alone
    assert budget_of(model) is (QUICK if alone else SLOW)
    assert QUICK.rows > SLOW.rows >= CLASSES.rows > MANY_CLASSES.rows


def test_names_of_many_classes_are_few_questions():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (150, 2))
    y = np.array(list("abcdefghijkl"))[((X[:, 0] + 3) * 1.99).astype(int)]
    model = collegium.CommitteeClassifier(n_local=0, learn=False, random_state=0).fit(X, y)
    assert budget_of(model) is MANY_CLASSES
