"""Arguments that belong together, as small objects that `clone` and grid search reach into."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from ..numerics.records import record


@dataclass(frozen=True)
class Options:
    """A group of arguments. It checks nothing: the estimator does, when it is fitted."""

    argument: ClassVar[str]  # that takes it

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change arguments in place, as scikit-learn's `set_params(anchors__rule=…)` does."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no argument {name!r}: give one of {tuple(known)}"
                )
            object.__setattr__(self, name, value)
        return self


@record("options.select/1")
@dataclass(frozen=True)
class Select(Options):
    """Where the anchors go, and how many: `anchors=Select("sgma", 200)`.

    Parameters
    ----------
    rule : str, default="kmeans"
        See `collegium.select_anchors`.
    m : int or "auto"
        "auto": from the effective degrees of freedom of the rows.
    candidates, picks : int or "auto"
        "sgma" and "postapp": random rows that are drawn at a time, and anchors that are taken of
        them. "auto": 118 and 4. As published: `Select("postapp", 200, candidates=59, picks=1)`.
    """

    argument = "anchors"
    rule: str = "kmeans"
    m: int | str = "auto"
    candidates: int | str = "auto"
    picks: int | str = "auto"


@record("options.chunks/1")
@dataclass(frozen=True)
class Chunks(Options):
    """How rows are cut into chunks: `chunks=Chunks(500, "time")`.

    Parameters
    ----------
    size : int or "auto", default="auto"
        Rows in a chunk. "auto": all of up to 2000 rows, otherwise 500 (transductive: 1000).
    rule : {"balanced", "kmeans", "random", "time"} or array of n labels, default="balanced"
        How rows are dealt to chunks. Labels are for `fit`, where each is the id of its chunk, for
        `forget`; a stream is cut as it comes.
    """

    argument = "chunks"
    size: int | str = "auto"
    rule: Any = "balanced"


@record("options.learn/1")
@dataclass(frozen=True)
class Learn(Options):
    """How hyperparameters are learnt, and from where: `learn=Learn("auto", n_starts=3)`.

    Parameters
    ----------
    how : {"auto", "average", "anchored"} or bool, default="auto"
        What `learn` takes by itself.
    n_starts : int, default=1
        Starting points of the final optimisation.
    """

    argument = "learn"
    how: str | bool = "auto"
    n_starts: int = 1


@record("options.inductive/1")
@dataclass(frozen=True)
class Inductive(Options):
    """Shared anchors with local correction: `inference=Inductive(sweeps=1)`.

    Parameters
    ----------
    sweeps : "auto", int or Sweeps, default="auto"
        With likelihoods other than "gaussian", how often chunks are approximated again, at most: 1
        is the Bayesian committee machine. "auto": until no message moves by more than a tolerance;
        `collegium.Sweeps(most, tol, schedule)` sets that, and the order of chunks.
    """

    argument = "inference"
    sweeps: int | str | Sweeps = "auto"


@record("options.transductive/1")
@dataclass(frozen=True)
class Transductive(Options):
    """The joint committee machine over the queries of each call: `inference=Transductive(500)`.

    Parameters
    ----------
    query_size : int or "auto"
        Query points of one batch, padding included. "auto": twice the effective degrees of
        freedom of the rows, between 200 and 1000.
    screening : float, default=1e-3
        Chunks too far from a batch of queries to matter are left out. All of them together would
        move no mean by more than so many posterior standard deviations, and no variance by more
        than that share. 0: every chunk counts.
    sweeps : "auto", int or Sweeps, default="auto"
        As of `Inductive`.
    """

    argument = "inference"
    query_size: int | str = "auto"
    screening: float = 1e-3
    sweeps: int | str | Sweeps = "auto"


@record("options.sweeps/1")
@dataclass(frozen=True)
class Sweeps(Options):
    """How often chunks with a likelihood that is not Gaussian are approximated again.

    Parameters
    ----------
    most : int or "auto"
        Sweeps over all chunks, at most: 1 is the Bayesian committee machine. "auto": until no
        message moves by more than `tol`.
    tol : float, default=1e-3
        Change of messages, relative to their sum, at which sweeps end.
    schedule : {"parallel", "sequence"}
        Whether the chunks of a sweep are approximated all at once or one after the other.
    """

    argument = "sweeps"
    most: int | str = "auto"
    tol: float = 1e-3
    schedule: str = "parallel"


@record("options.cg/1")
@dataclass(frozen=True)
class CG(Options):
    """Conjugate gradients to the means of the exact Gaussian process: `inference=CG(tol=1e-3)`.

    Parameters
    ----------
    tol : float, default=0.01
        Residual, relative to y, at which they stop. The committee predicts the rest, so
        a residual of a few hundredths moves few means by more than a tenth of their error.
    max_iter : int, default=100
        Iterations, at most.
    """

    argument = "inference"
    tol: float = 1e-2
    max_iter: int = 100


@record("options.answer_time/1")
@dataclass(frozen=True)
class AnswerTime(Options):
    """How long an answer may take, and what it may keep: `n_local=AnswerTime(0.1, "1GB")`.

    As many nearest rows, or cells of them, correct an answer as that time allows.

    Parameters
    ----------
    milliseconds : float
        CPU time of one thread for the mean and standard deviation of a row.
    memory : int or str, default="512MB"
        Bytes of cells that are kept between calls. What nearest rows need comes on top of it: see
        the notes of `CommitteeRegressor`.
    n_local : int or "auto", default="auto"
        Nearest rows that the model is fitted with.
    """

    argument = "n_local"
    milliseconds: float
    memory: int | str = "512MB"
    n_local: int | str = "auto"


@record("options.transform/1")
@dataclass(frozen=True)
class Transform(Options):
    """Transforms of y and of the columns of X: `transforms=Transform(y="log", X=None)`.

    Parameters
    ----------
    y : {"auto", "log", "yeo-johnson", "rank"} or None, default="auto"
        "auto": of a skewed y the one by which held-out rows are clearly denser, and means better.
    X : {"auto", "rank"} or None, default="auto"
        "rank": columns are taken as normal scores. "auto": very skewed ones, where held-out rows
        gain.
    """

    argument = "transforms"
    y: str | None = "auto"
    X: str | None = "auto"


@record("options.limits/1")
@dataclass(frozen=True)
class Limits(Options):
    """Time and memory that a fit may take: `limits=Limits(60, "2GB")`.

    Parameters
    ----------
    time : float or None
        Seconds of wall time. None: no limit.
    memory : int, str or None
        Bytes beyond the rows as given, or a text such as "2GB". None: what the process
        may have (machine, containers, `ulimit -v`).
    """

    argument = "limits"
    time: float | None = None
    memory: int | str | None = None


def check_nested(arguments: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse `learn__n_starts=…` where `learn` is a plain value and not given beside it."""
    for name in asked:
        own, _, inner = name.partition("__")
        if not inner or own in asked or own not in arguments:
            continue
        value = arguments[own]
        if not hasattr(value, "set_params"):
            kinds = [one for one in Options.__subclasses__() if one.argument == own]
            fit = [one.__name__ for one in kinds if _has(one, inner)]
            raise ValueError(
                f"{name}: {own}={value!r} has no arguments of its own. Give "
                + (f"{own}={fit[0]}({inner}=…) first" if fit else f"{own} by its own name")
            )


def _has(options: type[Options], name: str) -> bool:
    return any(field.name == name for field in fields(options))
