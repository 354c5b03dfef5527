"""The rule that chooses among candidates by their losses at held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.engines.local import Serial
from collegium.kernels import RBF, Matern12, Matern52, Sum
from collegium.learning import hyperparameters as learning
from collegium.learning.choice import Compared, Losses, lost_across
from collegium.learning.families import Comparison, near_losses
from collegium.learning.hyperparameters import _Learner, learn
from collegium.learning.optimise import Learnt
from collegium.learning.pool import Effort, Pool
from collegium.learning.tuning import TUNING
from collegium.numerics.clock import Clock
from collegium.rows.nearest import nearest_others
from collegium.rows.rows import Rows
from collegium.rows.scaling import for_learning, merged

QUICK = Effort(
    at_once=150, rough_rows=200, family_chunks=3, family_size=150, first_chunks=4, final_chunks=4,
    final_size=150, near_rows=400, near_neighbours=40,
)  # fmt: skip


def losses(density, squares=None):
    density = np.asarray(density, dtype=float)
    squares = np.ones(density.size) if squares is None else np.asarray(squares, dtype=float)
    return Losses(density, squares[:, None])


def noisy_losses(rng, n, *gains, spread=0.3):
    """Losses with these mean gains over the first, and differences of this spread."""
    common = rng.normal(1.0, 1.0, n)
    found = [losses(common)]
    for gain in gains:
        away = rng.normal(0.0, spread, n)
        found.append(losses(common + away - away.mean() - gain))
    return found


# --- the rule ------------------------------------------------------------------------------------


def test_the_loss_is_negative_log_density_and_half_the_relative_square():
    """Its mean differs by Δ NLPD + ½ Δ MSE/least MSE, as long as nothing is cut."""
    rng = np.random.default_rng(0)
    density, squares = rng.normal(size=(3, 50)) * 0.2, rng.uniform(0.1, 0.4, (3, 50, 2))
    each = [Losses(a, b) for a, b in zip(density, squares)]
    w = rng.uniform(0.5, 2.0, 50)
    compared, share = Compared.of(each, w), w / w.sum()
    usual = np.min([share @ one for one in squares], axis=0)
    slow = [share @ (a + 0.5 * (b / usual).sum(axis=1)) for a, b in zip(density, squares)]
    assert_allclose(np.diff(compared.means), np.diff(slow), rtol=1e-10)
    more, error = compared.behind(2, 0)
    assert_allclose(more, slow[2] - slow[0], rtol=1e-10)
    away = density[2] - density[0] + 0.5 * ((squares[2] - squares[0]) / usual).sum(axis=1)
    assert_allclose(error, np.sqrt((share**2 * (away - more) ** 2).sum()), rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_ties_go_to_the_first(seed):
    rng = np.random.default_rng(seed)
    needed = TUNING.choice.errors * 1.5 / np.sqrt(1_000)
    assert 0.7 * needed > TUNING.choice.least
    each = noisy_losses(rng, 1_000, 0.7 * needed, 0.5 * needed, spread=1.5)
    assert Compared.of(each).simplest() == 0
    assert Compared.of(each[::-1]).simplest() == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_clear_gain_is_taken_wherever_it_comes_from(seed):
    rng = np.random.default_rng(seed)
    each = noisy_losses(rng, 1_000, 0.0, 0.06, 0.03)
    assert Compared.of(each).simplest() == 2
    common = rng.normal(size=1_000)
    squares = rng.chisquare(1, 1_000)
    by_squares = [losses(common, squares), losses(common, 0.9 * squares)]
    assert Compared.of(by_squares).simplest() == 1


def test_of_several_as_good_as_the_best_the_first_is_taken():
    rng = np.random.default_rng(3)
    each = noisy_losses(rng, 1_000, 0.2, 0.201, 0.202)
    assert Compared.of(each).simplest() == 1


def test_outliers_do_not_decide():
    """A few rows by which a candidate gains as much as all others lose."""
    rng = np.random.default_rng(1)
    each = noisy_losses(rng, 1_000, -0.05)
    wild = each[1].density.copy()
    wild[:5] -= 1_000.0
    assert Compared.of([each[0], losses(wild)]).simplest() == 0
    squares = np.ones(1_000)
    squares[:5] = 1e6
    assert Compared.of([losses(each[0].density, squares), each[1]]).simplest() == 0


def test_few_rows_are_asked_for_more():
    """The same gain in standard errors is taken from many rows and not from few."""
    for n, taken in ((200, False), (400, True)):
        away = np.tile([-1.0, 1.0], n // 2)
        gain = 1.5 * away.std() / np.sqrt(n)
        each = [losses(np.zeros(n)), losses(away - gain)]
        assert (Compared.of(each).simplest() == 1) == taken


def test_rows_of_a_group_count_as_few():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(10), 100)
    away = rng.normal(size=10)[group] * 0.3
    away += 0.1 - away.mean()
    each = [losses(away), losses(np.zeros(1_000))]
    assert Compared.of(each).simplest() == 1
    assert Compared.of(each, group=group).simplest() == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_candidate_without_finite_losses_is_not_taken(bad):
    good, broken = losses(np.zeros(400)), losses(np.full(400, bad), np.full(400, bad))
    assert Compared.of([broken, good]).simplest() == 1
    assert Compared.of([good, broken]).simplest() == 0
    assert np.isfinite(Compared.of([broken, broken]).means).all()


def test_gaps_count_only_as_far_as_they_are_clear():
    even = np.array([0.3, 0.5, 0.4, 0.6, 0.2, 0.4])
    worse = even + np.array([0.5, 0.7, 0.6, 0.4, 0.5, 0.6])
    unclear = even + np.array([2.0, -1.0, 0.9, -0.8, 0.1, -0.2])
    found = lost_across(np.stack([even, worse, unclear]))
    more = worse - even
    clear = more.mean() - TUNING.choice.across_errors * more.std(ddof=1) / np.sqrt(6)
    assert_allclose(found, [0.0, TUNING.choice.across * clear, 0.0], atol=1e-12)
    rows = np.zeros(1_000)
    each = [Losses(rows, np.ones((1_000, 1)), gaps) for gaps in (worse, even)]
    assert Compared.of(each).simplest() == 1
    each = [Losses(rows, np.ones((1_000, 1)), gaps) for gaps in (unclear, even)]
    assert Compared.of(each).simplest() == 0


# --- losses of a kernel --------------------------------------------------------------------------


def drawn(kernel, noise, n, seed, *, low=-2.0, high=2.0, d=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(low, high, (n, d))
    f = np.linalg.cholesky(kernel.value(X) + 1e-9 * np.eye(n)) @ rng.normal(size=(n, 1))
    y = f + np.sqrt(noise) * rng.normal(size=(n, 1))
    return Rows(X, (y - y.mean()) / y.std(), np.ones(n))


def losses_of(kernel, noise, rows, held, near):
    compared = Comparison(rows.y[held], rows.w[held], [None])
    return near_losses(kernel, noise, rows, held, near, compared, Serial())


def test_squares_are_those_of_the_gp_of_near_rows_and_densities_know_the_noise():
    kernel, noise = Matern52(1.1, [0.6, 2.0]), 0.2
    rows = drawn(kernel, noise, 400, 4)
    held_out = np.arange(300)
    near = nearest_others(rows.X, held_out, 15)
    found = losses_of(kernel, noise, rows, held_out, near)
    for i in (0, 17, 211):
        X, y = rows.X[near[i]], rows.y[near[i]]
        k = kernel.value(rows.X[[i]], X)
        mean = k @ np.linalg.solve(kernel.value(X) + noise * np.eye(15), y)
        assert_allclose(found.squares[i], (rows.y[i] - mean[0]) ** 2, rtol=1e-8)
    # a noise that is wrong by a factor makes little difference: errors have a scale of their own
    wrong = losses_of(kernel.scaled(9.0), 9.0 * noise, rows, held_out, near)
    assert_allclose(wrong.squares, found.squares, rtol=1e-6)
    assert abs(wrong.density.mean() - found.density.mean()) < 0.05


# --- data made to mislead ------------------------------------------------------------------------


def learnt(rows, seed=0, effort=QUICK):
    said = []
    found = learn(rows, None, None, np.random.default_rng(seed), Serial(), effort=effort,
                  say=said.append)  # fmt: skip
    return found, said


def ratio_of_squares(found, rows, size=400):
    """Mean squared error of held-out rows, predicted from rows near them, over that of zero."""
    held = np.arange(0, rows.w.size, max(1, rows.w.size // size))
    near = nearest_others(rows.X, held, 60)
    lost = losses_of(found.kernel, found.noise, rows, held, near)
    return float(lost.squares.mean() / (rows.y[held] ** 2).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_of_pure_noise_nothing_is_explained(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(900, 1))
    rows = Rows(rng.normal(size=(900, 3)), (y - y.mean()) / y.std(), np.ones(900))
    found, _ = learnt(rows)
    assert ratio_of_squares(found, rows) < 1.05


def test_heavy_tails_do_not_buy_a_rough_kernel():
    """A smooth function with Cauchy-like noise is not explained by a short rough kernel."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (1_200, 2))
    y = np.sin(X[:, :1]) + 0.5 * X[:, 1:] + 0.15 * rng.standard_t(2, (1_200, 1))
    y = np.clip(y, *np.quantile(y, [0.001, 0.999]))
    rows = Rows(X, (y - y.mean()) / y.std(), np.ones(1_200))
    found, _ = learnt(rows)
    truth = (np.sin(X[:, :1]) + 0.5 * X[:, 1:] - y.mean()) / y.std()
    held = np.arange(0, 1_200, 4)
    near = nearest_others(X, held, 60)
    lost = losses_of(found.kernel, found.noise, replaced(rows, held, truth), held, near)
    assert lost.squares.mean() < 0.03


def replaced(rows, held, y):
    """Rows whose held-out targets are the function itself."""
    new = rows.y.copy()
    new[held] = y[held]
    return Rows(rows.X, new, rows.w)


def test_a_column_of_ids_is_ignored():
    """Ids in the order of rows, and as random numbers: neither explains noise."""
    rng = np.random.default_rng(6)
    n = 1_200
    X = np.column_stack([rng.uniform(-2, 2, n), rng.permutation(n), rng.uniform(0, 1e9, n)])
    y = np.sin(2.0 * X[:, :1]) + 0.5 * rng.normal(size=(n, 1))
    rows = Rows(X, (y - y.mean()) / y.std(), np.ones(n))
    found, _ = learnt(rows)
    assert ratio_of_squares(found, rows) < 1.25 * 0.25 / float(y.var())


def misleading(kind, rng, n=900):
    """Rows that a kernel without noise could repeat: noise, ids beside noise, outliers."""
    X = rng.uniform(-2, 2, (n, 3))
    f = 0.0 if kind == "noise" else np.sin(X[:, :1])
    y = f + (0.2 * rng.standard_t(2, (n, 1)) if kind == "tails" else rng.normal(size=(n, 1)))
    if kind == "ids":
        X[:, 2] = rng.permutation(n)
    return Rows(X, (y - y.mean()) / y.std(), np.ones(n))


@pytest.mark.parametrize("kind", ["noise", "ids", "tails"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_kernel_that_repeats_the_rows_is_not_taken(kind, order):
    rows = misleading(kind, np.random.default_rng(12))
    own = learner(rows, [])
    scales = rows.X.std(axis=0)
    honest = Learnt(Matern52(0.5, 2.0 * scales * [1.0, 3.0, 3.0]), 0.7, 0.0)
    repeats = [Learnt(k(1.0, 0.1 * scales), 1e-6, 0.0) for k in (Matern12, RBF)]
    assert own._best([honest, *repeats][::order]) is honest


@pytest.mark.parametrize("smooth", [True, False])
def test_the_kernel_that_the_rows_were_drawn_from_is_recognised(smooth):
    """Under noise a smooth function has one smooth kernel; a rough one is not taken for smooth."""
    kernel = RBF(1.0, [1.0, 1.0]) if smooth else Matern12(1.0, [1.5, 1.5])
    rows = drawn(kernel, 0.3 if smooth else 0.01, 1_500, 7)
    found, _ = learnt(rows)
    parts = found.kernel.parts if isinstance(found.kernel, Sum) else (found.kernel,)
    rough = [isinstance(part, Matern12) for part in parts]
    assert not any(rough) if smooth else any(rough)


# --- a last fit that goes wrong ------------------------------------------------------------------


def learner(rows, said):
    return _Learner(
        Pool(rows), None, None, np.random.default_rng(0), Serial(), 1,
        QUICK.for_rows(rows.w.size), None, Clock(), said.append,
    )  # fmt: skip


def test_a_fit_that_held_out_rows_lose_by_is_taken_back():
    """Smooth kernels without noise interpolate noise: errors are larger than those of zero."""
    rows, said = drawn(Matern52(1.0, [1.0, 1.0]), 0.5, 800, 8), []
    own = learner(rows, said)
    good = Learnt(Matern52(1.0, [1.0, 1.0]), 0.5, 0.0)
    bad = Learnt(RBF(1.0, [0.3, 0.3]), 1e-6, 0.0)
    chunks = own._cut([np.arange(0, 800, 4)])
    assert own._confirmed(good, bad, chunks) is good and not said
    taken = own._confirmed(bad, good, chunks)
    assert taken is not bad and said
    assert ratio_of_squares(taken, rows) < 1.1 * ratio_of_squares(good, rows)


def test_where_every_candidate_is_bad_learning_starts_again():
    rows, said = drawn(Matern52(1.0, [1.0, 1.0]), 0.5, 800, 9), []
    own = learner(rows, said)
    bad = Learnt(RBF(1.0, [0.3, 0.3]), 1e-6, 0.0)
    worse = Learnt(RBF(2.0, [0.2, 0.2]), 1e-7, 0.0)
    taken = own._confirmed(bad, worse, own._cut([np.arange(0, 800, 2)]))
    assert ratio_of_squares(taken, rows) < 0.8
    assert taken.noise > 0.05


def test_learning_confirms_its_last_fit(monkeypatch):
    """A last fit that ends in no noise, as those of 0/1 outcomes have, does not reach the user."""
    rows, fit = drawn(Matern52(1.0, [1.0, 1.0]), 0.5, 800, 10), learning._Learner._fit
    count = []

    def spoilt(self, kernel, noise, chunks, *, max_iter=None, final=False):
        found = fit(self, kernel, noise, chunks, max_iter=max_iter, final=final)
        if final:
            count.append(found)
        if len(count) == 1:  # the first of the final fits, and those that go on from there
            return Learnt(RBF(1.0, [0.3, 0.3]), 1e-6, found.value)
        return found

    monkeypatch.setattr(learning._Learner, "_fit", spoilt)
    found, said = learnt(rows)
    assert any("once more" in text for text in said)
    assert ratio_of_squares(found, rows) < 0.8


def test_copies_of_rows_do_not_look_free_of_noise():
    """Every row twice: merged as they are before learning, they choose as each row once does."""
    one = drawn(Matern52(1.0, [1.0, 1.0]), 0.5, 600, 13)
    twice = for_learning(merged(one + one, None, in_order=False)[0])
    once = for_learning(merged(one, None, in_order=False)[0])
    (found, _), (same, _) = learnt(twice), learnt(once)
    assert found.noise == same.noise > 0.1
    assert ratio_of_squares(found, one) < 0.5
