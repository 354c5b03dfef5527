"""A single column, and a frame that has only an index, are refused with what to write instead."""

import numpy as np
import pytest

import collegium
from collegium import CommitteeRegressor, OnlineGPRegressor, RegressionFilter
from collegium.metrics import coverage
from collegium.optimise import minimise

pandas = pytest.importorskip("pandas")
DAYS = pandas.date_range("2025-01-01", periods=30)
Y = np.arange(30.0)


@pytest.mark.parametrize("estimator", [CommitteeRegressor, RegressionFilter])
@pytest.mark.parametrize("one", [pandas.Series(Y, name="x"), pandas.Index(Y), DAYS])
def test_a_series_is_not_a_table(estimator, one):
    with pytest.raises(ValueError, match=r"X is one column.*X\.to_frame\(\).*reset_index"):
        estimator().fit(one, Y)


def test_polars_too():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"X\.to_frame\(\)"):
        CommitteeRegressor().fit(polars.Series("x", Y), Y)


def test_the_remedy_works_and_a_fitted_model_refuses_alike():
    model = CommitteeRegressor(random_state=0).fit(DAYS.to_frame(), Y)
    with pytest.raises(ValueError, match=r"X\.to_frame\(\)"):
        model.predict(DAYS)
    assert model.predict(DAYS[:3].to_frame()).shape == (3,)


def test_a_frame_of_an_index_alone():
    with pytest.raises(ValueError, match=r"X has no columns.*reset_index"):
        CommitteeRegressor().fit(pandas.DataFrame(index=DAYS), Y)
    CommitteeRegressor(random_state=0).fit(pandas.DataFrame(index=DAYS).reset_index(), Y)


def test_other_words_that_name_the_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"limits='2 min'.*Limits\(time=120"):
        CommitteeRegressor(limits="2 min").fit(Y[:, None], Y)
    with pytest.raises(ValueError, match="predict_interval"):
        coverage(Y, Y, 0.1 * np.ones(30))
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 40)
    with pytest.raises(collegium.ModelFileError, match=r"^this is not a model file.*model\.save"):
        collegium.load(path)


@pytest.mark.parametrize("one", [3.0, 3, np.float64(3.0), np.array(3.0)])
@pytest.mark.parametrize("estimator", [CommitteeRegressor, OnlineGPRegressor])
def test_a_row_of_a_stream_has_its_y_in_a_list(estimator, one):
    model = estimator(random_state=0)
    with pytest.raises(ValueError, match=r"y=3 is one number: give a list.*\[3\]"):
        model.partial_fit({"a": 1.0, "b": 2.0}, one)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("words", [False, True])
def test_a_frame_with_its_target_after_the_fit(words):
    frame = pandas.DataFrame({"a": Y, "b": (["u", "v", "w"] if words else [1.0, 2.0, 4.0]) * 10})
    model = CommitteeRegressor(random_state=0).fit(frame.assign(p=Y), y="p")
    expected = model.predict(frame)
    with pytest.raises(ValueError, match="only fit of a frame.*frame.drop"):
        model.partial_fit(frame.assign(p=Y), "p")
    for more in (frame.assign(p=Y), frame.assign(p=Y, q=Y)):
        with pytest.raises(ValueError, match=r"(?s)- p\n.*list\(model.feature_names_in_\)"):
            model.predict(more)
        given = more[list(model.feature_names_in_)]
        np.testing.assert_array_equal(model.predict(given), expected)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing") as said:
        model.predict(frame[["a"]])
    assert "Leave out" not in str(said.value)


def test_a_committee_that_cannot_follow_says_what_can():
    assert "forgetting='auto'" in CommitteeRegressor()._remedy()


def test_an_optimum_is_short_to_read():
    found = minimise(lambda x: float(x[0] ** 2), [(-1, 1)], 6, random_state=0)
    assert repr(found) == f"Optimum(x={found.x!r}, value={found.value!r})"
