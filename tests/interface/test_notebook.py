"""Notebooks show scikit-learn's picture of an estimator, and what was found below it."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator

from collegium import CommitteeRegressor, OnlineGPRegressor, RVCRegressor
from collegium.interface.words import effects
from collegium.kernels import RBF

X = np.random.default_rng(0).uniform(-3, 3, size=(60, 2))
Y = np.sin(X[:, 0])


def small():
    return CommitteeRegressor(RBF(1.0, [0.7, 9.0]), noise=0.01, learn=False)


def test_an_unfitted_estimator_is_drawn_as_scikit_learn_draws_it():
    drawn = small()._repr_html_()
    assert "CommitteeRegressor" in drawn and "very smooth function" not in drawn


def test_a_fitted_one_says_what_was_found_without_predicting(monkeypatch):
    model = small().fit(X, Y)
    monkeypatch.setattr(effects, "importances", lambda _: pytest.fail("it takes seconds"))
    for drawn in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert drawn.startswith("<style")
        assert "a very smooth function" in drawn and "standard deviation 0.1" in drawn
        assert "60, used as they are" in drawn


@pytest.mark.parametrize("make", [OnlineGPRegressor, RVCRegressor])
def test_models_without_a_summary_say_their_brief(make):
    model = make(random_state=0).fit(X, Y)
    assert "60 rows of 2 columns" in model._repr_html_()


def test_names_of_columns_are_escaped():
    pd = pytest.importorskip("pandas")
    hostile = pd.DataFrame(X, columns=["<script>alert(1)</script>", "b"])
    drawn = small().fit(hostile, Y)._repr_html_()
    assert "<script>alert(1)" not in drawn
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 0.7" in drawn


def test_text_display_has_no_html():
    with config_context(display="text"):
        assert not hasattr(small(), "_repr_html_")
        assert "text/html" not in small().fit(X, Y)._repr_mimebundle_()


def test_links_lead_nowhere_until_there_is_an_address(monkeypatch):
    assert small()._get_doc_link() == ""
    monkeypatch.setattr(CommitteeRegressor, "_doc_link_template", "docs/{estimator_name}.html")
    assert small()._get_doc_link() == "docs/CommitteeRegressor.html"
    assert BaseEstimator()._get_doc_link() != ""
