"""Every bad argument is a ValueError that names it, before anything is learnt."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk

from collegium import (
    CG,
    AnswerTime,
    Chunks,
    CommitteeRegressor,
    ExpertsRegressor,
    Inductive,
    Learn,
    Limits,
    Select,
    Sweeps,
    Transductive,
    Transform,
    kernels,
    likelihoods,
)
from collegium.engines import Serial
from estimator_cases import GIVEN, KERNEL, NOISE, committee, queries, rows

X, Y = rows(30)
NO_SIZES = ["five", 0, -1, 2.5, None, True, np.nan, [3]]

BAD = {
    "kernel": ["rbf", 3.0, kernels.RBF, sk.Matern(nu=0.7), [KERNEL]],
    "inference": ["both", None, 1, ["inductive"], ("inductive", "transductive"),
        *(Transductive(size) for size in ("five", 0, None)),
        *(Transductive(screening=s) for s in (-1e-3, 1.0, np.nan, None, "auto", True, [0.1])),
        "best", True, ["cg"], *(CG(tol) for tol in (-1e-3, 1.0, np.nan, None, "auto", True)),
        *(CG(max_iter=size) for size in NO_SIZES),
    ],
    "likelihood": ["normal", None, 1, ["poisson"], likelihoods.Softmax(), likelihoods.Poisson],
    "chunks": [
        0, -1, 2.5, None, True, "clusters", np.zeros((30, 2)), np.full(30, np.nan),
        np.array([1, "a", None] * 10, dtype=object), *(Chunks(size) for size in NO_SIZES),
        *(Chunks("auto", rule) for rule in ("clusters", "auto", None, 3, np.zeros((30, 2)))),
    ],
    "anchors": [
        *NO_SIZES, *(Select(rule) for rule in ("best", None, 3, ["kmeans"], np.zeros((3, 2)))),
        *(Select("sgma", size) for size in NO_SIZES), 3.0, [1.0, 2.0],
        Select("sgma", 7, candidates=0), Select("sgma", 7, candidates=5, picks=6),
        Select("postapp", 7, picks="few"), Select("kmeans", 7, picks=1),
        np.zeros((0, 2)), np.full((2, 2), np.inf), [["a", "b"]],
        np.zeros((3, 3)), 1j * np.ones((2, 2)), [[1.0], [2.0, 3.0]],
    ],
    "transforms": [
        "sqrt", 1, True, ["log"], *(Transform(y=kind) for kind in ("sqrt", 1, True, ["log"])),
        *(Transform(X=kind) for kind in ("log", 1, True, ["rank"])),
    ],
    "members": ["forest", 3, True, ["trees"], np.ones(3), kernels.RBF],
    "categorical_features": ["sex", 2, -3, 1.5, True, [9], ["x", 0], {"x": 1}, [True] * 3, [None]],
    "trend": ["time", True, 1.5, [], [0, 0], -1, 2, [0, "x"], {"x": 1}],
    "noise": [None, -1.0, np.nan, np.inf, "small", [0.1, 0.2], [[0.1]], [], 1j, [0.1, None]],
    "n_local": [
        "five", -1, 2.5, None, True, np.nan, [3],
        *(AnswerTime(time) for time in (0, -1.0, np.nan, np.inf, "1", True, [1.0])),
        *(AnswerTime(1.0, n_local=size) for size in ("five", -1, 2.5, None, True, np.nan, [3])),
        *(AnswerTime(1.0, memory) for memory in (0, "much", None)),
    ],
    "learn": [
        None, "yes", 1, 0.0, *(Learn(how) for how in (None, "yes", 1, 0.0)),
        *(Learn(n_starts=size) for size in NO_SIZES + ["auto"]),
    ],
    "limits": [
        0, -1.0, np.nan, "much", "60XB", True, [1.0],
        *(Limits(time) for time in (0, -1.0, np.nan, "60", True, [1.0])),
        *(Limits(memory=size) for size in (0, -1, np.nan, "much", "2XB", True, [1])),
    ],
    "store": [3.0, [1], object()],
    "engine": ["threads", 4, Serial, object()],
    "n_jobs": [0, 1.5, "all", True, [2]],
    "verbose": ["loud", -1, 0.5, None, "auto"],
    "random_state": ["seed", -1, 1.5, [0.5]],
}  # fmt: skip
BAD["inference"] += [  # 3 and other sound ones mean nothing where messages do not move
    kind(sweeps=sweeps) for kind in (Inductive, Transductive) for sweeps in (
        "five", 0, 2.5, None, 3, Sweeps(), Sweeps(schedule="sequence"), Sweeps(tol=0.5),
        *(Sweeps(schedule=word) for word in ("both", None, ["parallel"])),
        *(Sweeps(tol=tol) for tol in (-1.0, "auto", None, np.nan)),
    )
]  # fmt: skip
CASES = [(name, value) for name, values in BAD.items() for value in values]
IDS = [f"{name}={i}" for name, values in BAD.items() for i in range(len(values))]


@pytest.mark.parametrize("name, value", CASES, ids=IDS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_bad_argument_is_named(method, name, value):
    model = CommitteeRegressor(**{name: value})
    with pytest.raises(ValueError, match=name):
        getattr(model, method)(X, Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("arguments, message", [
    ({"combination": "bcm"}, "combination='bcm'"),
    ({"combination": ["rbcm"]}, "combination"),
    ({"combination": "poe", "communication": 5}, "communication means nothing with .*'poe'"),
    ({"communication": 0}, "communication=0"),
    ({"learn": "anchored"}, "learn='anchored'"),
])  # fmt: skip
def test_what_means_nothing_to_experts_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ExpertsRegressor(**arguments).fit(X, Y)


def test_every_argument_has_bad_cases():
    assert set(BAD) == set(CommitteeRegressor().get_params())


@pytest.mark.parametrize("arguments, message", [
    ({"learn": False}, "learn=False needs both kernel and noise"),
    ({"learn": False, "kernel": KERNEL}, "learn=False needs both kernel and noise"),
    ({"learn": False, "noise": NOISE}, "learn=False needs both kernel and noise"),
    ({"kernel": KERNEL + kernels.White(), "noise": NOISE}, "noise is given twice"),
    ({"inference": "transductive", "n_local": 5}, "n_local means nothing"),
    ({"noise": [0.0, 1.0]}, "noise has zeros beside"),
    ({"inference": "cg", "n_local": 0}, "inference='cg' needs the rows, and n_local=0"),
    ({"kernel": kernels.RBF(length_scale=[1.0, 2.0, 3.0])}, "length_scale of RBF has 3 values"),
    ({"kernel": 2.0 * sk.RBF([1.0] * 5) + sk.DotProduct()}, "length_scale of RBF has 5 values"),
    ({"anchors": np.zeros((4, 3))}, "anchors have 3 columns, but X has 2"),
    ({"noise": [0.1, 0.2, 0.3]}, "noise has 3 values, but y has 1"),
    ({"chunks": np.zeros(31)}, "chunks gives 31 labels for 30 rows"),
])  # fmt: skip
def test_arguments_that_contradict_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CommitteeRegressor(**arguments).fit(X, Y)


@pytest.mark.parametrize("arguments, message", [
    ({"chunks": 20_000}, r"chunks .*17000 x 17000 .*GiB"),
    ({"chunks": np.zeros(17_000)}, r"chunks.* 17000 x 17000"),
    ({"anchors": 16_500}, r"anchors.* 16500 x 16500"),
    ({"anchors": np.zeros((16_400, 1))}, r"anchors.* 16400 x 16400"),
    ({"n_local": 17_000}, r"n_local.* 17000 x 17000"),
    ({"inference": Transductive(20_000)}, r"query_size.* 20000 x 20000"),
])  # fmt: skip
def test_a_dense_matrix_too_large_is_refused_before_it_is_tried(arguments, message):
    many = np.arange(17_000.0)[:, None]
    with pytest.raises(ValueError, match=message):
        CommitteeRegressor(kernels.RBF(), noise=0.1, learn=False, **arguments).fit(many, many)


def test_nothing_happens_before_fit():
    for name, value in CASES:
        model = CommitteeRegressor(**{name: value})
        assert getattr(model, name) is value
        assert vars(model).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize("arguments", [
    {"chunks": np.array(["b", "a"] * 15)}, {"chunks": ["b", "a"] * 15},
    {"chunks": np.arange(30) % 2 == 0}, {"chunks": Chunks("auto", np.tile([0.5, -1.5], 15))},
    {"n_jobs": -1}, {"n_jobs": np.int64(2)}, {"chunks": np.int32(15)}, {"verbose": False},
    {"noise": np.float32(0.5)}, {"noise": 1}, {"noise": [0.4]}, {"learn": np.bool_(False)},
    {"random_state": np.random.RandomState(0)}, {"random_state": np.random.default_rng(0)},
    {"random_state": None}, {"engine": Serial()}, {"anchors": [[0, 1], [1, 0]]},
])  # fmt: skip
def test_arguments_of_unusual_types_work(arguments):
    given = {"chunks": 15, **GIVEN, **arguments}
    model = CommitteeRegressor(**given).fit(X, Y)
    assert model.n_chunks_ == 2
    assert np.isfinite(model.predict(queries())).all()


def test_arguments_are_not_changed_by_fit():
    anchors, labels, noise = queries(4), np.arange(30) % 3, np.array([NOISE])
    model = committee("local", kernel=KERNEL, anchors=anchors, chunks=labels, noise=noise)
    model.fit(X, Y).partial_fit(X, Y)
    assert model.anchors is anchors and model.chunks is labels and model.noise is noise
    assert_array_equal(anchors, queries(4))
    assert_array_equal(labels, np.arange(30) % 3)
    assert model.kernel is KERNEL
    assert not np.shares_memory(model.anchors_, anchors)


def test_a_kernel_for_one_column_is_refused_on_more():
    kernel = sk.ConstantKernel(2.0) * sk.ExpSineSquared(1.0, 3.0)
    X = np.linspace(0.0, 9.0, 24)
    CommitteeRegressor(kernel, noise=0.1, learn=False).fit(X[:, None], np.sin(X))
    with pytest.raises(ValueError, match="Periodic"):
        CommitteeRegressor(kernel, noise=0.1, learn=False).fit(X.reshape(12, 2), X[:12])


@pytest.mark.parametrize("name", ["kernel_", "noise_", "anchors_", "log_evidence_", "n_chunks_"])
def test_what_was_found_is_asked_of_a_fitted_model_only(name):
    assert not hasattr(CommitteeRegressor(), name)
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(CommitteeRegressor(), name)
