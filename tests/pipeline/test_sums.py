"""The same bits in any order: streams permuted, models merged, chunks forgotten."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import (
    Chunks,
    CommitteeClassifier,
    CommitteeRegressor,
    ExpertsRegressor,
    OnlineGPRegressor,
    RVCRegressor,
    SparseGPRegressor,
)
from collegium.kernels import Matern32
from collegium.pipeline.sums import ChunkBook
from estimator_cases import every_id_given

RNG = np.random.default_rng(7)
X = RNG.uniform(-2, 2, (150, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * RNG.normal(size=150)
XS = RNG.uniform(-2.2, 2.2, (9, 2))
Z = RNG.uniform(-2, 2, (12, 2))
GIVEN = {
    "kernel": Matern32(1.3, [0.9, 1.4]),
    "noise": 0.02,
    "learn": False,
    "anchors": Z,
    "chunks": 20,
    "random_state": 0,
}
KINDS = {
    "local": lambda: CommitteeRegressor(n_local=15, **GIVEN),
    "anchors only": lambda: CommitteeRegressor(n_local=0, **GIVEN),
    "transductive": lambda: CommitteeRegressor(inference="transductive", **GIVEN),
    "two threads": lambda: CommitteeRegressor(n_local=15, n_jobs=2, **GIVEN),
    "fitc": lambda: SparseGPRegressor(method="fitc", **GIVEN),
    "pic": lambda: SparseGPRegressor(method="pic", **GIVEN),
    "experts": lambda: ExpertsRegressor(
        combination="rbcm", **{name: GIVEN[name] for name in GIVEN if name != "anchors"}
    ),
}
OF_LATENTS = {name: GIVEN[name] for name in GIVEN if name != "noise"}
BLANKS = {}
#: Chunks of one row, of a few, and of more than a chunk holds.
CHUNKS = {3: (0, 5), "b": (5, 6), 0: (6, 36), "a": (36, 41), 12: (41, 90)}
steady = settings(max_examples=5, deadline=None, derandomize=True)
every_kind = pytest.mark.parametrize("kind", KINDS)


def blank(kind):
    """A model with a basis and no rows, the same for every test."""
    if kind not in BLANKS:
        BLANKS[kind] = KINDS[kind]().fit(X[90:], Y[90:]).blank()
    return BLANKS[kind].blank()


def fed(model, ids):
    for id in ids:
        rows = slice(*CHUNKS[id])
        model.partial_fit(X[rows], Y[rows], chunk_id=id)
    return model


def with_committee(model, committee, ids, n_chunks, weight):
    """A fitted record with another sum."""
    chunks = ChunkBook(ids, n_chunks, weight)
    return replace(model, sum=replace(model.sum, committee=committee), chunks=chunks)


def state(model):
    """Sums and belief."""
    c = model.model_.committee
    words = (getattr(c.messages, part) for part in ("precision", "shift", "log_scale"))
    sums = [getattr(part, word) for part in words for word in ("lo", "hi", "top")]
    return [*sums, c.belief.mean, c.belief.factor, c.belief.log_evidence]


def assert_same_bits(a, b):
    for mine, theirs in zip(state(a), state(b), strict=True):
        assert_array_equal(mine, theirs)
    assert a.chunk_ids_ == b.chunk_ids_ and a.basis_id_ == b.basis_id_
    for mine, theirs in zip(
        a.predict(XS, return_std=True), b.predict(XS, return_std=True), strict=True
    ):
        assert_array_equal(mine, theirs)
    assert a.n_chunks_ == b.n_chunks_
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-14)


orders = st.permutations(list(CHUNKS))


@every_kind
@steady
@given(order=orders)
def test_the_order_of_chunks_changes_no_bit(kind, order):
    assert_same_bits(fed(blank(kind), order), fed(blank(kind), CHUNKS))


@every_kind
@steady
@given(order=orders, cuts=st.tuples(st.integers(0, 5), st.integers(0, 5)), swap=st.booleans())
def test_models_merged_are_the_model_of_all_chunks(kind, order, cuts, swap):
    low, high = sorted(cuts)
    parts = [fed(blank(kind), ids) for ids in (order[:low], order[low:high], order[high:])]
    if swap:
        parts = parts[::-1]
    whole = parts[0].merge(parts[1]).merge(parts[2])
    assert_same_bits(whole, fed(blank(kind), CHUNKS))


@every_kind
@steady
@given(order=orders, count=st.integers(1, 4))
def test_what_is_forgotten_was_never_learnt(kind, order, count):
    model, gone = fed(blank(kind), order), order[:count]
    if model.model_.sum.arrived():
        model.forget(gone)
    else:
        for id in gone:
            rows = slice(*CHUNKS[id])
            model.forget(id, X[rows], Y[rows])
    assert_same_bits(model, fed(blank(kind), sorted(order[count:], key=str)))


CUSTOMERS = np.random.default_rng(8).choice([2, 30, 7, 11], 150)
SYSTEMS = {
    **{kind: KINDS[kind] for kind in ("local", "anchors only", "fitc", "experts")},
    "counts": lambda: CommitteeRegressor(likelihood="poisson", n_local=15, **OF_LATENTS),
    "classes": lambda: CommitteeClassifier(n_local=15, **OF_LATENTS),
}


def targets_of(kind):
    """Targets that the system takes."""
    return {"counts": np.arange(150) % 4, "classes": Y > 0.0}.get(kind, Y)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_labels_of_a_fit_are_ids_that_can_be_forgotten(kind):
    """As if the rows of each label had been added to the same basis, but for the one forgotten."""
    y, model = targets_of(kind), SYSTEMS[kind]().set_params(chunks=CUSTOMERS)
    model.fit(X, y)
    assert model.chunk_ids_ == [2, 7, 11, 30]
    never, gone = model.blank(), CUSTOMERS == 7
    if model.model_.sum.arrived():
        model.forget(7)
    else:
        with pytest.raises(ValueError, match="not the rows of chunk 7"):
            model.forget(7, X[CUSTOMERS == 11], y[CUSTOMERS == 11])
        model.forget(7, X[gone], y[gone])
    assert model.chunk_ids_ == [2, 11, 30] and model.n_chunks_ == 3
    for id in (30, 2, 11):
        own = CUSTOMERS == id
        never.merge(model.blank().partial_fit(X[own], y[own], chunk_id=id))
    if hasattr(model.model_, "committee"):
        return assert_same_bits(model, never)
    answers = [getattr(one, "predict_proba", one.predict)(XS) for one in (model, never)]
    assert_allclose(*answers, rtol=1e-3)  # messages at rest, up to a tolerance


@pytest.mark.parametrize("kind", ["anchors only", "fitc"])
def test_rows_of_a_label_are_not_cut_when_they_are_given_again(kind):
    gone, models = CUSTOMERS == 7, []
    for chunks in (CUSTOMERS, Chunks(10, CUSTOMERS)):
        model = KINDS[kind]().set_params(chunks=chunks).fit(X, Y)
        models.append(model.forget(7, X[gone], Y[gone]))
    assert_same_bits(*models)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_numbers_of_a_fit_are_nobodys_ids(kind):
    model, y = SYSTEMS[kind](), targets_of(kind)
    model.fit(X, y)
    before = model.chunk_ids_
    assert before == list(range(model.n_chunks_)) and len(before) > 3
    model.partial_fit(X[:30], y[:30], chunk_id=70)
    model.partial_fit(X[30:50], y[30:50])
    for bad in (2, [70, 0], model.chunk_ids_[-1]):
        with pytest.raises(ValueError, match=r"given, \[70\]: .* chunks=labels"):
            model.forget(bad)
    assert model.chunk_ids_[: len(before)] == before
    given = (70,) if model.model_.sum.arrived() else (70, X[:30], y[:30])
    assert 70 not in model.forget(*given).chunk_ids_


def test_who_gave_an_id_is_known_after_all_that_happens_to_a_model(tmp_path):
    """Relearnt, merged, saved, and while a stream waits in an exact GP."""
    model = KINDS["local"]().set_params(chunks=[f"c{k % 3}" for k in range(90)]).fit(X[:90], Y[:90])
    model.partial_fit(X[90:120], Y[90:120])
    other = model.blank()
    other.partial_fit(X[120:], Y[120:], chunk_id=5)
    model.relearn().save(tmp_path / "model.clg")
    waiting = CommitteeRegressor(**{**GIVEN, "anchors": "auto", "chunks": 150})
    waiting.partial_fit(X[:9], Y[:9], chunk_id=4).partial_fit(X[9:15], Y[9:15])
    for one in (model, collegium.load(tmp_path / "model.clg"), waiting):
        numbers = [id for id in one.chunk_ids_ if isinstance(id, int) and id != 4]
        assert numbers
        with pytest.raises(ValueError, match="cannot be forgotten"):
            one.forget(numbers[0])
    assert 4 not in waiting.forget(4).chunk_ids_
    assert "c1" not in model.forget("c1").chunk_ids_


@pytest.mark.parametrize(
    ("labels", "ids"),
    [
        ([3.0, 0.5, -2.0], [3, "-2", "0.5"]),
        (np.array(["2024-05-01", "2024-05-02", "1969-01-01"], dtype="datetime64[D]"),
         ["1969-01-01", "2024-05-01", "2024-05-02"]),
        ([True, False, True], ["False", "True"]),
    ],
)  # fmt: skip
def test_labels_that_are_no_ids_are_named_by_their_text(labels, ids):
    model = KINDS["local"]().set_params(chunks=np.repeat(labels, 50)).fit(X, Y)
    assert model.chunk_ids_ == ids
    assert model.forget(ids[1]).chunk_ids_ == [ids[0], *ids[2:]]


def test_chunks_that_a_fit_made_are_subtracted_alike():
    model = every_id_given(KINDS["local"]().fit(X, Y))
    assert model.chunk_ids_ == list(range(model.n_chunks_)) and model.n_chunks_ > 3
    kept = model.model_.committee.chunks()
    model.forget([0, 2])
    assert model.chunk_ids_ == [1, *range(3, len(kept))]
    other = model.blank()
    for chunk in kept:
        if chunk.id not in (0, 2):
            y = model.scaling_.mean(chunk.y)
            own = other.model_
            grown = own.committee.add([chunk], other._engine(), keep=True)
            ids = own.chunks.ids + type(own.chunks.ids).of([chunk.id])
            other.model_ = with_committee(own, grown, ids, 1, float(y.size))
    for mine, theirs in zip(state(model), state(other), strict=True):
        assert_array_equal(mine, theirs)
    assert_array_equal(model.predict(XS), other.predict(XS))


def test_all_forgotten_is_the_prior():
    model = fed(blank("local"), CHUNKS).forget(list(CHUNKS))
    assert_same_bits(model, blank("local"))
    _, std = model.predict(XS, return_std=True)
    prior = np.sqrt(GIVEN["kernel"].variance + GIVEN["noise"])
    assert_allclose(std, prior, rtol=1e-9)


def test_rows_that_wait_keep_their_ids():
    """Before there are anchors the rows of a stream are one exact GP."""
    given_kernel = {"kernel": GIVEN["kernel"], "noise": 0.02, "learn": False}
    stream = fed(CommitteeRegressor(**given_kernel), CHUNKS)
    assert stream.chunk_ids_ == [0, 3, 12, "a", "b"] and stream.anchors_.size == 0
    mixed = fed(CommitteeRegressor(**given_kernel), reversed(CHUNKS))
    assert_allclose(stream.predict(XS), mixed.predict(XS), rtol=1e-11)
    # scaling of y stays that of all rows: so only the rows are compared with an exact GP of others
    stream.forget(["a", 12])
    left = np.r_[0:36]
    scaled = stream.scaling_.forward(Y[left, None])
    assert_allclose(np.sort(stream.model_.committee.rows().y, axis=0), np.sort(scaled, axis=0))
    stream.relearn()
    alone = CommitteeRegressor(**given_kernel).fit(X[left], Y[left])
    assert_allclose(stream.predict(XS), alone.predict(XS), rtol=1e-12)
    assert stream.chunk_ids_ == [0, 3, "b"]
    with pytest.raises(ValueError, match="no rows would be left"):
        stream.forget([0, 3, "b"])


def test_ids_outlive_the_choice_of_anchors():
    model = CommitteeRegressor(**GIVEN, n_local=15)
    fed(model, CHUNKS)
    assert model.chunk_ids_ == [0, 3, 12, "a", "b"]
    before = model.blank()
    model.forget([3, 12])
    assert_same_bits(model, fed(before, ["b", 0, "a"]))


def test_a_grown_basis_takes_messages_of_its_first_anchors():
    few, more = fed(blank("anchors only"), ["b", 3]), fed(blank("anchors only"), ["b", 3])
    grown = more.model_.committee.with_anchors(np.array([[0.1, 0.2], [1.4, -1.1]]))
    more.model_ = with_committee(
        more.model_, grown, more.model_.chunks.ids, more.model_.chunks.n, 6.0
    )
    assert few.basis_id_ != more.basis_id_
    fed(more, ["a"])
    other = fed(blank("anchors only"), [0])
    both, swapped = more.blank().merge(more).merge(other), other.blank().merge(other).merge(more)
    assert both.anchors_.shape == (14, 2)
    assert_same_bits(both, swapped)
    # "b" knew the first anchors only
    rows = slice(*CHUNKS["b"])
    less = both.forget("b", X[rows], Y[rows])
    never = fed(blank("anchors only"), [3, 0])
    grown = never.model_.committee.with_anchors(np.array([[0.1, 0.2], [1.4, -1.1]]))
    never.model_ = with_committee(
        never.model_, grown, never.model_.chunks.ids, never.model_.chunks.n, 35.0
    )
    assert_same_bits(less, fed(never, ["a"]))


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-1, 1.5, "", True, None, [1], "x" * 201])
def test_a_bad_chunk_id_is_named(bad):
    model = blank("local")
    if bad is not None:
        with pytest.raises(ValueError, match="chunk_id"):
            model.partial_fit(X[:5], Y[:5], chunk_id=bad)
    if bad != [1]:
        with pytest.raises(ValueError, match="chunk_ids"):
            model.forget(bad)
    assert model.chunk_ids_ == []


def test_an_id_is_learnt_once():
    model = fed(blank("local"), ["a"])
    before = model.predict(XS)
    with pytest.raises(ValueError, match="'a' was learnt already"):
        fed(model, ["a"])
    other = fed(blank("local"), ["b", "a"])
    with pytest.raises(ValueError, match=r"both models have the chunks \['a'\]"):
        model.merge(other)
    assert_array_equal(model.predict(XS), before)
    fed(model.forget("a"), ["a"])
    assert_array_equal(model.predict(XS), before)


@pytest.mark.parametrize(
    "name, change",
    [
        ("kernel", {"kernel": Matern32(1.3, [0.9, 1.5])}),
        ("noise", {"noise": 0.03}),
        ("anchors", {"anchors": Z[::-1].copy()}),
    ],
)
def test_messages_of_another_basis_are_refused_and_what_differs_is_named(name, change):
    model, before = blank("local"), blank("local").predict(XS)
    other = CommitteeRegressor(**{**GIVEN, "n_local": 15, **change}).fit(X[90:], Y[90:])
    with pytest.raises(ValueError, match=f"another {name}: messages"):
        model.merge(other)
    assert other.basis_id_ != model.basis_id_
    assert_array_equal(model.predict(XS), before)
    scaled = CommitteeRegressor(**GIVEN, n_local=15).fit(X[90:], Y[90:] + 1.0)
    with pytest.raises(ValueError, match="scaling of y: messages"):
        model.merge(scaled)
    with pytest.raises(ValueError, match="kind of model"):
        model.merge(blank("fitc"))
    with pytest.raises(ValueError, match="give one fitted model"):
        model.merge(CommitteeRegressor())


def test_rows_not_kept_are_known_by_their_hash():
    model = fed(blank("anchors only"), ["a", 0])
    rows = slice(*CHUNKS["a"])
    with pytest.raises(ValueError, match="give X and y"):
        model.forget("a")
    with pytest.raises(ValueError, match="not the rows of chunk 'a'"):
        model.forget("a", X[rows], Y[rows] + 1e-15)
    with pytest.raises(ValueError, match="give one id"):
        model.forget(["a", 0], X[rows], Y[rows])
    with pytest.raises(ValueError, match="rows were kept"):
        fed(blank("local"), ["a"]).forget("a", X[rows], Y[rows])
    model.partial_fit(X[:9], Y[:9])
    with pytest.raises(ValueError, match="without chunk_id"):
        every_id_given(model).forget(model.chunk_ids_[1], X[:9], Y[:9])
    order = np.random.default_rng(0).permutation(np.arange(*CHUNKS["a"]))
    assert "a" not in model.forget("a", X[order], Y[order]).chunk_ids_


def test_an_exact_gp_has_no_basis_to_share():
    model = CommitteeRegressor(random_state=0).fit(X[:40], Y[:40])
    with pytest.raises(ValueError, match="no anchors"):
        model.blank()
    with pytest.raises(ValueError, match="no anchors"):
        model.merge(CommitteeRegressor(random_state=0).fit(X[:40], Y[:40]))


def test_experts_that_share_rows_are_not_taken_apart():
    model = ExpertsRegressor(chunks=20, random_state=0).fit(X[:80], Y[:80])
    for call in (model.blank, lambda: model.forget(1), lambda: model.merge(model)):
        with pytest.raises(ValueError, match="grbcm"):
            call()


def test_models_that_are_no_sums_of_chunks_cannot_forget_one():
    for estimator in (OnlineGPRegressor(), RVCRegressor()):
        assert not hasattr(estimator, "forget") and not hasattr(estimator, "blank")


# -- latent functions -----------------------------------------------------------------------------

LABELS = np.where(np.hypot(X[:, 0], X[:, 1]) < 1.2, "in", "out")
LATENT = {name: GIVEN[name] for name in GIVEN if name != "noise"}


def test_classes_come_to_rest_in_any_order():
    start = CommitteeClassifier(**LATENT, n_local=15).fit(X[90:], LABELS[90:]).blank()

    def learnt(ids):
        model = start.blank()
        for id in ids:
            rows = slice(*CHUNKS[id])
            model.partial_fit(X[rows], LABELS[rows], chunk_id=id)
        return model

    whole = learnt([3, 0]).merge(learnt([12, "a", "b"]))
    other = learnt(["b", "a"]).merge(learnt([0, 12, 3]))
    assert whole.chunk_ids_ == other.chunk_ids_ == [0, 3, 12, "a", "b"]
    assert_allclose(whole.predict_proba(XS), other.predict_proba(XS), atol=2e-3)
    less, never = whole.forget([12, "b"]), learnt([0]).merge(learnt(["a", 3]))
    assert_allclose(less.predict_proba(XS), never.predict_proba(XS), atol=2e-3)
    assert_array_equal(less.class_count_, never.class_count_)
    assert less.class_count_.sum() == 40


def test_counts_are_forgotten_where_rows_wait():
    counts = np.random.default_rng(0).poisson(np.exp(Y))
    kernel = {"kernel": GIVEN["kernel"], "learn": False, "likelihood": "poisson"}
    model = CommitteeRegressor(**kernel)
    for id, rows in CHUNKS.items():
        model.partial_fit(X[slice(*rows)], counts[slice(*rows)], chunk_id=id)
    model.forget([12])
    assert model.chunk_ids_ == [0, 3, "a", "b"]
    model.relearn()
    alone = CommitteeRegressor(**kernel).fit(X[:41], counts[:41])
    assert_allclose(model.predict(XS), alone.predict(XS), rtol=1e-6)


def test_messages_of_latent_functions_cannot_be_made_again():
    model = CommitteeClassifier(**LATENT, n_local=0).fit(X[90:], LABELS[90:])
    model.partial_fit(X[:9], LABELS[:9], chunk_id="a")
    with pytest.raises(ValueError, match="rows were not kept"):
        model.forget("a")
