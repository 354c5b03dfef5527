"""Regression by a latent function: what y is to its likelihood, and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..interface.progress import Progress
from ..interface.validation import MOST_COPIES, check_rows, check_weights
from ..kernels import as_kernel, split_white
from ..laplace.committee import LaplaceCommittee
from ..laplace.learning import Problem
from ..likelihoods.base import Observation, Scalar
from ..likelihoods.conformance import check_methods
from ..likelihoods.poisson import LARGEST_COUNT, Poisson
from ..likelihoods.student import StudentT
from ..rows.rows import Rows
from ..rows.scaling import LARGEST, Scaling
from .arguments import Settings
from .latent_fitting import (
    LatentBuilt,
    LatentPredictor,
    Sweeping,
    add_latent,
    build_latent,
    due,
    latent_settings,
)
from .plan import check_memory

Array = np.ndarray
#: None: Gaussian noise, which the committee knows in closed form.
LIKELIHOODS: dict[str, Scalar | None] = {
    "gaussian": None, "poisson": Poisson(), "student-t": StudentT(),
}  # fmt: skip
#: Noise to start learning from, of y scaled.
FIRST_NOISE = 0.1
#: Mean squares of y over its variance, from which on a prior mean of zero costs digits.
FAR = 1e8
#: Counts that stand for none at all.
HALF_A_COUNT = 0.5


def chosen(estimator) -> Scalar | None:
    """The likelihood asked for; None: Gaussian noise."""
    asked = estimator.likelihood
    if isinstance(asked, str) and asked in LIKELIHOODS:
        found = LIKELIHOODS[asked]
    elif isinstance(asked, Scalar) and asked.support:
        found = asked
        check_methods(asked)
    elif isinstance(asked, type) and issubclass(asked, Observation):
        raise ValueError(f"likelihood={asked!r} is a class: give an instance, {asked.__name__}()")
    else:
        raise ValueError(
            f"likelihood={asked!r}: give one of {tuple(LIKELIHOODS)}, or a likelihood of "
            "collegium.observation with one latent function"
        )
    Sweeping.of(estimator)
    asked = estimator.sweeps, estimator.schedule, estimator.tol
    if found is None and asked != ("auto", "parallel", 1e-3):
        raise ValueError(
            "sweeps, schedule and tol mean nothing with likelihood='gaussian', where messages "
            "do not move: leave them out"
        )
    return found


def regression_settings(estimator, likelihood: Scalar) -> Settings:
    """The arguments, those that mean nothing with this likelihood refused."""
    e, name = estimator, f"likelihood={estimator.likelihood!r}"
    robust, noise = isinstance(likelihood, StudentT), e.noise
    if not robust and noise is not None:
        raise ValueError(f"noise means nothing with {name}: leave it out")
    if isinstance(likelihood, StudentT):
        noise = _given_noise(e, likelihood)
    if isinstance(e.learn, str) and e.learn == "anchored":
        raise ValueError(f"learn='anchored' needs likelihood='gaussian', not {name}")
    settings = latent_settings(e, noise=noise if robust else 1.0, noisy=robust)
    others = {
        f"combination={e.combination!r}": settings.experts,
        f"refine={e.refine!r}": settings.refine,
        f"n_starts={e.n_starts!r}": settings.n_starts != 1,
    }
    for argument, given in others.items():
        if given:
            raise ValueError(f"{argument} needs likelihood='gaussian', not {name}")
    if settings.noise is not None and settings.noise.size != 1:
        raise ValueError(f"noise has {settings.noise.size} values, but y has 1 output")
    if robust and settings.noise is not None and settings.noise[0] == 0.0:
        raise ValueError(f"noise=0 means nothing with {name}: give a positive number")
    return settings


def _given_noise(e, likelihood: StudentT):
    """The noise to keep, by argument or as that of an object that is not to be learnt."""
    fixed = "noise" in likelihood.fixed
    if fixed and e.noise is not None:
        raise ValueError("noise is given twice: drop it, or the fixed one of likelihood")
    white = e.kernel is not None and split_white(as_kernel(e.kernel))[1] is not None
    if fixed or not (isinstance(e.likelihood, str) or e.learn or white):
        return likelihood.noise if e.noise is None else e.noise
    return e.noise


def check_latent_rows(
    estimator, likelihood: Scalar, X, y, sample_weight, exposure, *, reset: bool
) -> Rows:
    """Validated rows: y (n, 1), or counts and exposures (n, 2)."""
    rows, y_ndim = check_rows(estimator, X, y, sample_weight, reset=reset)
    check_weights(rows.w, MOST_COPIES)
    if rows.y.shape[1] > 1:
        raise ValueError(
            f"y has {rows.y.shape[1]} outputs, but with likelihood={estimator.likelihood!r} it has "
            "one: fit one model each"
        )
    if y_ndim == 2:
        column_or_1d(rows.y, warn=True)
    if not isinstance(likelihood, Poisson):
        check_exposure(exposure, rows.X.shape[0], likelihood)
        likelihood.check(rows.y)
        return rows
    if not ((rows.y >= 0) & (rows.y <= LARGEST_COUNT)).all():
        raise ValueError(
            f"y must be counts between 0 and {LARGEST_COUNT:.0e} with likelihood='poisson'"
        )
    e = check_exposure(exposure, rows.X.shape[0], likelihood)
    return Rows(rows.X, np.column_stack([rows.y, e]), rows.w)


def check_exposure(exposure, n: int, likelihood: Scalar | None) -> Array:
    """One a row, or of all rows; ones by default  (n,)."""
    if exposure is None:
        return np.ones(n)
    if not isinstance(likelihood, Poisson):
        raise ValueError("exposure means something with likelihood='poisson' only: leave it out")
    try:
        e = np.asarray(exposure, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"exposure must be numbers: {error}") from error
    if e.ndim == 0:
        e = np.full(n, float(e))
    if e.shape != (n,):
        raise ValueError(f"exposure has shape {e.shape}: give one number a row, ({n},), or one")
    if not ((e >= 1.0 / LARGEST) & (e <= LARGEST)).all():
        raise ValueError(f"exposure must be positive numbers, at most {LARGEST:.0e}")
    return e


def exposed(rows: Rows) -> bool:
    """Whether some count is of another exposure than one."""
    return rows.y.shape[1] > 1 and bool((rows.y[:, 1] != 1.0).any())


@dataclass(frozen=True, eq=False)
class Units:
    """y = centre + scale · (what the likelihood sees), or counts at a rate e^(log_rate + f)."""

    scaling: Scaling
    log_rate: float = 0.0
    exposed: bool = False  # whether some exposure was not one

    @classmethod
    def of(cls, likelihood: Scalar, rows: Rows) -> Units:
        if isinstance(likelihood, StudentT):
            return cls(Scaling.robust(rows.y, rows.w))
        if not isinstance(likelihood, Poisson):
            return cls(Scaling.none())
        w = rows.w / rows.w.max()
        y, e = (w[:, None] * rows.y).sum(axis=0)
        log_rate = float(np.log(y or HALF_A_COUNT / rows.w.max()) - np.log(e))
        return cls(Scaling.none(), log_rate, exposed(rows))

    def forward(self, y: Array, likelihood: Scalar) -> Array:
        if isinstance(likelihood, Poisson):
            return np.column_stack([y[:, 0], y[:, 1] * np.exp(self.log_rate)])
        return self.scaling.forward(y)

    def backward(self, y: Array, likelihood: Scalar) -> Array:
        if isinstance(likelihood, Poisson):
            return np.column_stack([y[:, 0], y[:, 1] / np.exp(self.log_rate)])
        return self.scaling.mean(y)

    def likelihood(self, likelihood: Scalar, settings: Settings) -> Scalar:
        """As y is seen, with the noise that is given or that learning starts from."""
        if not isinstance(likelihood, StudentT):
            return likelihood
        unit = 1.0 / float(self.scaling.scale[0] ** 2)
        if settings.noise is not None:
            return replace(likelihood, noise=float(settings.noise[0]) * unit, fixed=("noise",))
        start = settings.noise_start
        return replace(likelihood, noise=FIRST_NOISE if start is None else start * unit)

    def settings(self, settings: Settings) -> Settings:
        """With the kernel of y as it is seen."""
        if settings.kernel is None:
            return settings
        unit = 1.0 / float(self.scaling.scale[0] ** 2)
        return replace(settings, kernel=settings.kernel.scaled(unit))


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A fitted regressor of a latent function; records of arrays, numbers and strings."""

    latent: LatentBuilt
    units: Units
    given: Scalar  # the likelihood asked for
    combination: str = "bcm"

    @property
    def committee(self) -> LaplaceCommittee:
        return self.latent.committees[0]

    @property
    def likelihood(self) -> Scalar:
        """Of y as it is seen."""
        found = self.committee.likelihood
        assert isinstance(found, Scalar)
        return found

    @property
    def scaling(self) -> Scaling:
        return self.units.scaling

    @property
    def n_chunks(self) -> int:
        return self.latent.n_chunks

    @property
    def chunk_size(self) -> int:
        return self.latent.chunk_size

    @property
    def query_size(self) -> int:
        return self.latent.query_size

    @property
    def n_local(self) -> int:
        return self.latent.n_local

    @property
    def residuals(self) -> Array:
        return np.empty(0)

    def predictor(self) -> LatentPredictor:
        return self.latent.predictor()

    @property
    def waiting(self) -> bool:
        return self.latent.waiting is not None

    @property
    def sizes(self) -> list[int]:
        """Of the chunks whose rows were kept."""
        if self.latent.waiting is not None:
            return [self.latent.waiting.X.shape[0]]
        return [one.chunk.load()[0].shape[0] for one in self.committee.states]

    def rows(self) -> Rows:
        """Those that were kept, in the units of the user."""
        if self.latent.waiting is not None:
            return self.latent.waiting
        parts = [Rows(*one.chunk.load()) for one in self.committee.states]
        kept = parts[0]
        for part in parts[1:]:
            kept = kept + part
        return Rows(kept.X, self.units.backward(kept.y, self.given), kept.w)


def fit_latent(
    rows: Rows, labels: Array | None, likelihood: Scalar, settings: Settings,
    sweeping: Sweeping, rng: np.random.Generator, say: Progress, *, streaming: bool,
    earlier: LatentFit | None,
) -> LatentFit:  # fmt: skip
    """Rows in the units of the user -> model. `earlier`: the same stream, some rows ago."""
    check_memory(settings, *rows.X.shape)
    again = earlier is not None and not due(earlier.latent, rows.X.shape[0], settings)
    units = earlier.units if earlier is not None and again else Units.of(likelihood, rows)
    units = replace(units, exposed=exposed(rows))
    y = units.forward(rows.y, likelihood)
    squares = _squares(likelihood, y, rows.w)
    if settings.learn and squares[0] > FAR * squares[1]:
        warnings.warn(
            "y lies far from zero, the prior mean with a likelihood of your own: subtract its mean",
            stacklevel=2,
        )
    problem = Problem(units.likelihood(likelihood, settings), y, *squares)
    latent = build_latent(
        rows, [problem], labels, units.settings(settings), sweeping, rng, say,
        streaming=streaming, earlier=None if earlier is None else earlier.latent,
    )  # fmt: skip
    return LatentFit(latent, units, likelihood)


def _squares(likelihood: Scalar, y: Array, w: Array) -> tuple[float, float]:
    """Mean squares of y as it is seen: about zero, where the prior mean is, and about its mean."""
    if isinstance(likelihood, StudentT) or not likelihood.identity:
        return 1.0, 1.0
    share, size = w / w.sum(), float(np.abs(y[:, 0]).max()) or 1.0
    unit = y[:, 0] / size
    about = float(share @ (unit - share @ unit) ** 2)
    about = about if about > 1e-26 else float(share @ unit**2)  # constant to rounding
    return float(share @ unit**2) * size**2 or 1.0, about * size**2 or 1.0


def hear_more(
    fit: LatentFit, rows: Rows, settings: Settings, rng: np.random.Generator
) -> LatentFit:
    """The model that has heard more rows, in chunks of their own."""
    y = fit.units.forward(rows.y, fit.given)
    units = replace(fit.units, exposed=fit.units.exposed or exposed(rows))
    return replace(fit, units=units, latent=add_latent(fit.latent, rows, [y], settings, rng))
