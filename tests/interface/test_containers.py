"""The same numbers in any container, of any type, left as they were."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from estimator_cases import (
    GIVEN,
    VARIANTS,
    assert_same_answers,
    assert_sound,
    committee,
    queries,
    rows,
)

pytestmark = pytest.mark.parametrize("variant", VARIANTS)
X, Y = rows(40)
XS = np.concatenate([queries(6), X[:5]])


def containers():
    """The same rows in other clothes."""
    wide = np.zeros((80, 5))
    wide[::2, 1:5:2] = X
    frame = {"a": X[:, 0], "b": X[:, 1]}
    return {
        "lists": (X.tolist(), Y.tolist(), XS.tolist()),
        "Fortran order": (np.asfortranarray(X), Y, np.asfortranarray(XS)),
        "strides": (wide[::2, 1:5:2], np.repeat(Y, 3)[::3], XS[::-1][::-1]),
        "objects": (X.astype(object), Y.astype(object), XS.astype(object)),
        "pandas": (pd.DataFrame(frame), pd.Series(Y), pd.DataFrame(XS, columns=["a", "b"])),
        "polars": (pl.DataFrame(frame), pl.Series(Y), pl.DataFrame(XS, schema=["a", "b"])),
        "a column": (X, Y[:, None], XS),
    }


@pytest.mark.parametrize("container", containers())
def test_the_container_does_not_matter(variant, container):
    given_X, given_y, Xs = containers()[container]
    model = committee(variant, **GIVEN).fit(given_X, given_y)
    expected = committee(variant, **GIVEN).fit(X, Y).predict(XS)
    assert (np.ravel(model.predict(Xs)) == expected).all()
    assert model.predict(Xs).ndim == (2 if container == "a column" else 1)


def test_read_only_memory_maps(variant, tmp_path):
    for name, array in {"X": X, "y": Y, "Xs": XS}.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "Xs")}
    model = committee(variant).fit(mapped["X"], mapped["y"])
    assert_same_answers(model, committee(variant).fit(X, Y), mapped["Xs"], rtol=0)
    assert model.partial_fit(mapped["X"], mapped["y"]).predict(mapped["Xs"]).shape == (11,)
    assert (mapped["X"] == X).all()


@pytest.mark.diagonal
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint8, bool])
def test_other_numbers_are_taken_at_their_value(variant, dtype):
    coarse = (20.0 * np.abs(X)).astype(dtype)
    y = (np.arange(40) % 7).astype(dtype)
    model = committee(variant, **GIVEN).fit(coarse, y)
    assert_sound(model, coarse[:5])
    exact = committee(variant, **GIVEN).fit(coarse.astype(float), y.astype(float))
    assert (model.predict(coarse) == exact.predict(coarse.astype(float))).all()
    assert model.predict(coarse).dtype == np.float64


def test_input_is_not_changed(variant):
    given_X, given_y, Xs, w = X.copy(), Y.copy(), XS.copy(), np.ones(40)
    model = committee(variant).fit(given_X, given_y, w)
    model.predict(Xs, return_cov=True)
    model.partial_fit(given_X, given_y, w)
    for array, before in ((given_X, X), (given_y, Y), (Xs, XS), (w, 1.0)):
        assert (array == before).all()


def test_answers_do_not_share_memory_with_the_model(variant):
    model = committee(variant).fit(X, Y)
    mean, cov = model.predict(XS, return_cov=True)
    again = mean.copy()
    mean[:] = cov[:] = np.nan
    assert_allclose(model.predict(XS), again, rtol=1e-9)
