"""Chunks of streams: forgotten where rows waited, where only some were kept, where rules draw."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import Chunks, CommitteeClassifier, CommitteeRegressor, ExpertsRegressor
from collegium.kernels import RBF, Matern32

RNG = np.random.default_rng(11)
X = RNG.uniform(-2, 2, (190, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * RNG.normal(size=190)
KERNEL = {"kernel": Matern32(1.3, [0.9, 1.4]), "noise": 0.02, "learn": False}
GIVEN = {**KERNEL, "anchors": X[:12], "chunks": 20, "random_state": 0}
CHUNKS = {"p": (0, 50), "q": (50, 53), "r": (53, 95), 4: (95, 140), "s": (140, 190)}


def fed(model, ids):
    for id in ids:
        rows = slice(*CHUNKS[id])
        model.partial_fit(X[rows], Y[rows], chunk_id=id)
    return model


def forget(model, ids):
    for id in ids:
        rows = slice(*CHUNKS[id])
        model.forget(id, X[rows], Y[rows])
    return model


def words(model):
    m = model.model_.committee.messages
    parts = (m.precision, m.shift, m.log_scale)
    return np.concatenate([w.astype(np.int64) for p in parts for w in (p.lo, p.hi, p.top)])


def kept_or_not(n_local):
    return CommitteeRegressor(n_local=n_local, **GIVEN).fit(X[150:], Y[150:]).blank()


@pytest.mark.parametrize("rule", ["balanced", "kmeans", "random", "time"])
@pytest.mark.parametrize("n_local", [15, 0])
def test_chunks_that_waited_are_those_that_come_later(rule, n_local):
    """Rows are one exact GP at first; when there are enough for anchors no bit of them is lost."""
    asked = {**KERNEL, "anchors": 25, "chunks": Chunks(20, rule)}
    asked["noise"] = 0.3  # so much that no anchor is missing, wherever k-means puts them
    model = fed(CommitteeRegressor(**asked, n_local=n_local), ["p"])
    assert model.anchors_.size == 0
    fed(model, ["q", "r", 4, "s"])
    start = model.blank()
    assert model.n_dropped_ == 0
    assert_array_equal(words(model), words(fed(start.blank(), ["s", 4, "r", "p", "q"])))
    gone = ["p", "r", "s"]
    model = model.forget(gone) if n_local else forget(model, gone)
    assert_array_equal(words(model), words(fed(start.blank(), [4, "q"])))


def test_targets_that_wait_stay_as_they_came():
    asked = {**KERNEL, "n_local": 0}
    model = fed(CommitteeRegressor(**asked), ["p", "q", "r"])
    kept = model.forget("p").model_.rows()
    assert set(kept.y[:, 0]) == set(Y[50:95]) and kept.X.shape == (45, 2)


def test_a_chunk_that_was_not_kept_is_not_forgotten_in_silence():
    """Of a model that keeps rows of other chunks; with X and y it is forgotten."""
    model = fed(kept_or_not(15), ["p", "q"]).merge(fed(kept_or_not(0), ["r"]))
    before = words(model)
    with pytest.raises(ValueError, match=r"not kept of the chunks \['r'\]"):
        model.forget(["p", "r"])
    assert model.chunk_ids_ == ["p", "q", "r"]
    assert_array_equal(words(model), before)
    forget(model, ["r"])
    assert_array_equal(words(model), words(fed(kept_or_not(15), ["p", "q"])))
    with pytest.raises(ValueError, match="rows were kept"):
        forget(model, ["q"])


def test_arguments_changed_on_the_way_lose_no_chunk():
    model = fed(kept_or_not(15), ["p"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(n_local=0)
    fed(model, ["q"])
    with pytest.raises(ValueError, match=r"not kept of the chunks \['q'\]"):
        model.forget("q")
    assert_array_equal(words(forget(model, ["q"])), words(fed(kept_or_not(15), ["p"])))


def test_models_without_anchors_are_not_added_to_those_with_some():
    """Their kernel, noise and scaling are equal, but no message was sent."""
    given = {name: GIVEN[name] for name in GIVEN if name != "anchors"}
    experts = ExpertsRegressor(combination="rbcm", **given).fit(X[150:], Y[150:]).blank()
    fed(experts, ["p"])
    for one, other in ((kept_or_not(15), experts), (experts, kept_or_not(15))):
        with pytest.raises(ValueError, match="another anchors"):
            one.merge(other)


def test_anchors_in_other_coordinates_are_another_basis():
    """Appended anchors have another factor, by the jitter and rounding, than all at once."""
    Z = np.vstack([X[:12], X[:12] + 1e-7])
    given = {**GIVEN, "kernel": RBF(1.3, [2.0, 2.0]), "n_local": 0}
    whole = CommitteeRegressor(**{**given, "anchors": Z}).fit(X[150:], Y[150:]).blank()
    grown = CommitteeRegressor(**given).fit(X[150:], Y[150:]).blank()
    committee = grown.model_.committee.with_anchors(Z[12:])
    grown.model_ = replace(grown.model_, sum=replace(grown.model_.sum, committee=committee))
    assert_array_equal(whole.anchors_, grown.anchors_)
    with pytest.raises(ValueError, match="another factor"):
        whole.merge(grown)


def test_a_stream_learns_no_more_from_rows_that_it_forgot():
    """Without rows a sample of them is kept, to learn hyperparameters anew."""
    asked = {"anchors": 10, "chunks": 60, "n_local": 0, "random_state": 0}
    model = fed(CommitteeRegressor(KERNEL["kernel"], **asked), ["p", "q", "r", 4])
    ids = {one.id for one in model.model_.chunks.ids.receipts}
    assert "p" in ids and "r" in ids

    def known():
        rows = model.model_.stream.following.sample.rows
        return {tuple(x) for x in rows.X} & {tuple(x) for x in X[53:95]}

    assert len(known()) == 42
    forget(model, ["r"])
    assert not known() and model.model_.stream.following.sample.rows.w.size == 98
    fed(model, ["s"])
    assert model.model_.stream.following.sample.rows.w.size == 148


def test_a_blank_classifier_keeps_its_basis_where_classes_come_in_other_shares():
    labels = np.where(np.hypot(X[:, 0], X[:, 1]) < 1.4, "in", "out")
    model = CommitteeClassifier(KERNEL["kernel"], anchors=12, chunks=30, random_state=0)
    start = model.fit(X, labels).blank()
    one, other, inner = start.blank(), start.blank(), np.flatnonzero(labels == "in")
    for k in (0, 1):
        rows = np.r_[inner[30 * k : 30 * k + 30], 60 * k : 60 * k + 10]
        one.partial_fit(X[rows], labels[rows], chunk_id=k)
    assert one.basis_id_ == start.basis_id_
    assert other.merge(one).chunk_ids_ == [0, 1]
