"""Fitted state is a tree of records of arrays, numbers and strings."""

import numpy as np
import pandas as pd
import pytest

from collegium import (
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    RVCRegressor,
    Select,
    SparseGPRegressor,
    kernels,
    likelihoods,
)
from estimator_cases import VARIANTS, assert_plain, committee, queries, rows

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.mark.diagonal
@pytest.mark.parametrize("p", [None, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_fitted_state_is_a_tree_of_plain_records(variant, p):
    X, y = rows(60, p=p)
    kernel = kernels.Matern52() + kernels.Linear() * kernels.Periodic(period=3.0)
    for given in (None, kernel):
        model = committee(variant, kernel=given).fit(pd.DataFrame(X, columns=["a", "b"]), y)
        assert_plain(model)
        model.predict(queries(), return_std=True)
        model.predict(queries(), return_cov=True)
        assert model.log_evidence_
        assert_plain(model)


@pytest.mark.diagonal
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_state_of_a_stream_is_a_tree_of_plain_records(variant):
    X, y = rows(80)
    model = committee(variant)
    for batch in np.split(np.arange(80), 8):
        model.partial_fit(X[batch], y[batch])
        assert_plain(model)


def test_the_walk_finds_what_does_not_belong():
    model = committee("local").fit(*rows(40))
    for stray in (lambda: 0, model, np.array([object()]), np.random.default_rng(0)):
        model.extra_ = {"deep": [stray]}
        with pytest.raises(AssertionError):
            assert_plain(model)
    loop = []
    model.extra_ = loop
    loop.append(loop)
    with pytest.raises(AssertionError, match="refers back"):
        assert_plain(model)


@pytest.mark.diagonal
@pytest.mark.parametrize("model", [
    SparseGPRegressor(method="pic", anchors=Select("sgma", 8), chunks=10, random_state=0),
    SparseGPRegressor(method="vfe", anchors=8, random_state=0),
    SparseGPRegressor(method="dtc", inference="transductive", chunks=20, random_state=0),
    NystromRegressor(anchors=30, noise=0.5, random_state=0),
    *(
        CommitteeRegressor(**{"likelihood": one, "chunks": 20, "anchors": 9, **way})
        for one in ("poisson", "student-t", likelihoods.Gaussian())
        for way in ({}, {"n_local": 0}, {"inference": "transductive"}, {"chunks": 80})
    ),
    ExpertsRegressor(combination="grbcm", chunks=10, random_state=0),
    ExpertsRegressor(combination="npae", chunks=10, random_state=0),
], ids=repr)  # fmt: skip
@pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning")
def test_other_models_are_trees_of_plain_records_too(model):
    X, y = rows(60)
    model.fit(X, y).predict(queries(), return_std=True)
    assert_plain(model)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y).predict(queries())
        assert model.log_evidence_
        assert_plain(model)


@pytest.mark.diagonal
@pytest.mark.parametrize("p", [None, 2])
@pytest.mark.parametrize("mode", ["local", "paper"])
def test_local_experts_are_trees_of_plain_records(mode, p):
    X, y = rows(80, p=p)
    frame = pd.DataFrame(X, columns=["a", "b"])
    batch = RVCRegressor(mode=mode, width=0.5, max_experts=5).fit(frame, y)
    stream = RVCRegressor(mode=mode, start_rows=30, max_experts=5)
    for part in np.split(np.arange(80), [1, 20, 50]):
        stream.partial_fit(frame.iloc[part], y[part])
        assert_plain(stream)
    for model in (batch, stream, stream.merge()):
        model.predict(queries(), return_cov=True)
        assert model.experts_
        assert_plain(model)
