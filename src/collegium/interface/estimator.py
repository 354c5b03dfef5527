"""Base of regressors and classifiers: a fitted record, and what is read from it."""

from __future__ import annotations

import os
import warnings
from copy import copy
from dataclasses import replace
from numbers import Real
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._pprint import _EstimatorPrettyPrinter
from sklearn.utils.metaestimators import available_if

from ..answers.answers import Made
from ..answers.arrived import CHECKED, Arrived
from ..explain.explanation import Explanation
from ..modelfile import files
from ..numerics import records
from ..numerics.threads import single_threaded
from ..numerics.version import __version__
from .checks.arguments import check_is_fitted, check_known_ids, choose_engine, yes_or_no
from .explaining import explanation_of
from .frames.encoded import columns_of
from .model import without_rows
from .options import check_nested
from .streams.watching import StreamCheck
from .turns import all_or_nothing, as_it_is, of_one_state
from .words.brief import brief_of
from .words.effects import importances
from .words.notebook import with_findings
from .words.progress import Progress, clear_bar
from .words.summary import summary_of

Array = np.ndarray


#: Where a pickle carries the version of this library.
PICKLED_BY = "_collegium_version"
#: Address of the page of an estimator, with {estimator_name}; empty: there is none yet.
DOCUMENTATION = ""
#: Of chunks that were not kept and have no receipt.
UNKNOWN_ROWS = (
    "their messages cannot be subtracted (the likelihood is not Gaussian, or the basis has changed "
    "since). Call fit without their rows"
)


def adds_up(estimator: Any) -> bool:
    """Whether a model is a sum of messages of chunks, for `available_if`."""
    return estimator.sums_messages


def is_explained(estimator: Any) -> bool:
    """Whether fitted models say what they found, for `available_if`."""
    return estimator.explains


class Estimator(BaseEstimator):
    """Keeps its fitted state as one record, `model_`, of arrays, numbers and strings."""

    #: Whether models are sums of messages, which can be put together and taken apart.
    sums_messages = False
    #: Whether X may hold words, dates and gaps.
    takes_tables = False
    #: Whether fitted models say what they found: `feature_importances_` and `summary`.
    explains = False
    #: What explanations are of.
    explained_level = "observation"
    #: Arguments that act after `fit` too.
    acts_after_fit: tuple[str, ...] = ("engine", "n_jobs", "verbose")
    #: Where scikit-learn's picture of an estimator links to: nowhere, until there is an address.
    _doc_link_module = "collegium"
    _doc_link_template = DOCUMENTATION

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("estimator", cls)

    def _keep(self, model: Any, check: StreamCheck | None = None) -> None:
        """The model from now on; what was made of an earlier one is dropped.

        `check`: of the stream that it came from; None: it is a new one, which may have learnt
        from rows that the one before was calibrated with.
        """
        if check is None:
            self.__dict__.pop("conformal_", None)
        self.model_ = model
        self._made = Made()
        rate = getattr(model, "forgetting", np.nan)
        self.stream_ = replace(check or StreamCheck(), forgetting=rate)
        clear_bar()

    def _remedy(self) -> str:
        """Say what to do where the error bars of a stream stop covering."""
        if not hasattr(self, "forgetting"):
            return (
                "A sum over all rows cannot follow that: call fit with recent rows, or take "
                "RegressionFilter, OnlineGPRegressor or RVCRegressor with forgetting='auto'"
            )
        several = getattr(getattr(self, "model_", None), "rates", ())
        if several:
            return (
                f"The rates {', '.join(map(str, several))} are compared, and may need some more "
                "rows; else give faster ones, or call fit with recent rows"
            )
        own = self.forgetting
        if isinstance(own, Real) and own < 1.0:
            return f"Give forgetting='auto' or a rate below {own}, or call fit with recent rows"
        return (
            "Give forgetting='auto', or a rate below 1, to follow it, or call fit with recent rows"
        )

    def _few_checked(self) -> int:
        """Rows of a call of `partial_fit` that are checked at first."""
        return getattr(self.model_, "few_checked", CHECKED)

    def _check_of(self, n: int, arrived: Arrived | None) -> StreamCheck:
        """The check of a stream after n more rows; warns where error bars stop covering."""
        before = getattr(self, "stream_", None) or StreamCheck()
        check = before.after(n, arrived).warned(self._remedy(), stacklevel=4)
        if arrived is not None:
            self._say()(
                f"{check.rows} rows: 95 % intervals cover {check.recent_coverage:.0%} of those "
                f"that came last, mean log density {check.recent_log_density:.3f}"
            )
        return check

    @available_if(adds_up)
    @all_or_nothing
    def merge(self, other: Any) -> Self:
        """Add to this model what another has learnt on the same basis; that one stays as it is.

        Sums of Gaussian messages are exact: the result is the same to the last bit however chunks
        were shared out, and in any order. With other likelihoods chunks that were kept are
        approximated again until their messages rest.

        Parameters
        ----------
        other : estimator of the same kind
            Begun from `blank()` of the same model, or a copy of that: kernel, noise, scaling of y
            and anchors (or the first of them) are equal. No chunk id may be in both.

        Returns
        -------
        self
        """
        other = as_it_is(other) if isinstance(other, Estimator) else other
        mine, theirs = self._additive(), getattr(other, "model_", None)
        if theirs is None:
            raise ValueError(
                f"other is a {type(other).__name__} that is not fitted: give one fitted model"
            )
        if mine.alone or getattr(theirs, "alone", False):
            raise ValueError(
                "a model whose rows are one exact GP has no anchors to send messages about: learn "
                "from more rows first, or give anchors"
            )
        differs = mine.differences(theirs) or self._differs_from(other)
        if differs:
            raise ValueError(
                f"other has another {', '.join(differs)}: messages add up on one basis only. Begin "
                "both models from blank() of one model"
            )
        both = mine.chunks.ids.common(theirs.chunks.ids)
        if both:
            raise ValueError(
                f"both models have the chunks {both[:5]}: these would count twice. Was it merged "
                "before? Else give chunk_id in partial_fit, a name of its own for every chunk"
            )
        with single_threaded():
            self._keep(mine.merged(theirs, self._engine()), self.stream_)
        self._merged_with(other)
        return self

    @available_if(adds_up)
    @all_or_nothing
    def forget(
        self,
        chunk_ids: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Forget chunks: with Gaussian noise, bitwise the model that never learnt from them.

        What was learnt from all rows stays: kernel, noise, anchors, scaling of y and `stream_`
        remember the rows until `relearn` or `fit`. With other likelihoods the chunks that are left
        are approximated again until their messages rest.

        Parameters
        ----------
        chunk_ids : int, str or list of these
            Ids that you gave: labels of `fit` with `chunks=labels`, or the `chunk_id` of a
            `partial_fit`. Chunks that were only numbered are refused.
        X, y, sample_weight : the rows of the one chunk, as they came
            Where rows were not kept (`n_local=0`). They are compared with a hash.

        Returns
        -------
        self
        """
        model = self._additive()
        known_ids = model.chunks.ids
        ids = check_known_ids(chunk_ids, known_ids)
        with single_threaded():
            if X is not None:
                if len(ids) != 1:
                    raise ValueError(f"chunk_ids={chunk_ids!r}: with X and y, give one id")
                chunks = self._chunks_again(ids[0], X, y, sample_weight)
                left = model.without_chunks(ids[0], chunks, self._engine())
            else:
                if lost := model.not_kept(ids):
                    known = [id for id in lost if known_ids.receipt(id) is not None]
                    raise ValueError(
                        f"rows were not kept of the chunks {lost[:5]} (n_local=0): "
                        + ("give X and y of one to forget it" if known else UNKNOWN_ROWS)
                    )
                left = model.without(ids, self._engine())
            self._keep(left, self.stream_)
        self._forgotten()
        return self

    @available_if(adds_up)
    @of_one_state
    def blank(self) -> Self:
        """A new model with the same kernel, noise, anchors and scaling of y, that has no rows.

        Several of these can learn in different places and be put together by `merge`. Its anchors
        stay as they are.

        Returns
        -------
        model : estimator
        """
        own = self._additive()
        if own.alone:
            raise ValueError(
                "a model whose rows are one exact GP has no anchors: learn from more rows first, "
                "or give anchors"
            )
        other = copy(self)
        other._keep(own.blank())
        other._forgotten()
        return other

    def _additive(self) -> Any:
        check_is_fitted(self)
        if self.model_.shares_rows:
            raise ValueError(
                "combination='grbcm' has a set of rows that all experts share: its models cannot "
                "be taken apart or put together. Give another combination"
            )
        return self.model_

    def _differs_from(self, other: Any) -> list[str]:
        """Name what else must be equal in models that are put together."""
        mine, theirs = (getattr(one, "encoding_", None) for one in (self, other))
        plain = all(one is None or one.plain for one in (mine, theirs))
        return [] if plain or mine == theirs else ["encoding of words, dates or gaps"]

    def _merged_with(self, other: Any) -> None:
        """After `merge`: what is counted beside the model."""

    def _forgotten(self) -> None:
        """After `forget`: what is counted beside the model."""

    def _chunks_again(self, id: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """The chunks that rows were cut into when they came."""
        raise ValueError("rows were kept: leave out X and y")

    def _predictor(self, n_local: Any = None) -> Any:
        """The model's predictor, made when first asked for and never stored."""
        check_is_fitted(self)
        if n_local is not None:
            raise ValueError(
                f"n_local={n_local!r}: {type(self).__name__} does not answer from nearest rows. "
                "Leave it out"
            )
        with single_threaded():
            return self._made.get(self.model_.predictor)

    def _engine(self) -> Any:
        engine = choose_engine(getattr(self, "engine", None), getattr(self, "n_jobs", None))
        verbose = getattr(self, "verbose", 0)
        return self._say("predicting").watch(engine) if verbose else engine

    def _say(self, task: str = "working") -> Progress:
        verbose = getattr(self, "verbose", 0)
        return Progress(verbose, task, (columns_of(self).names or ()) if verbose else ())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Arguments as scikit-learn writes them; below them what was found, once it is fitted."""
        text = super().__repr__(N_CHAR_MAX=N_CHAR_MAX)
        return f"{text}\n  {brief_of(self)}" if hasattr(self, "model_") else text

    def _repr_html_inner(self) -> str:
        """Draw the estimator as scikit-learn does, and say what was found; for notebooks."""
        return with_findings(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, str]:
        found = super()._repr_mimebundle_(**keywords)
        html = found.get("text/html")
        return found if html is None else {**found, "text/html": with_findings(self, html)}

    def set_params(self, **params):
        """Set arguments; a warning names those that take effect with the next `fit` only."""
        before = self._arguments_of_fit()
        check_nested(self.get_params(deep=False), params)
        super().set_params(**params)
        self._warn_of_waiting(params, before)
        return self

    def _arguments_of_fit(self) -> dict[str, Any]:
        """The arguments of a fitted model; none before the first fit."""
        return self.get_params(deep=False) if hasattr(self, "model_") else {}

    def _warn_of_waiting(self, params: dict[str, Any], before: dict[str, Any]) -> None:
        waiting = sorted(
            {name.partition("__")[0] for name in params if self._differs(name, before)}
            - set(self.acts_after_fit)
        )
        if waiting:
            warnings.warn(
                f"changes of {', '.join(waiting)} take effect with the next fit: this model stays "
                "as it was fitted",
                stacklevel=3,
            )

    def _differs(self, name: str, before: dict[str, Any]) -> bool:
        """Whether an argument of a fitted model has changed; those of members count as changed."""
        own, _, inner = name.partition("__")
        if not before or inner or own not in before:
            return bool(before)
        return before[own] is not getattr(self, own)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_tables
        tags.input_tags.categorical = self.takes_tables
        tags.input_tags.string = self.takes_tables
        return tags

    @property
    def feature_importances_(self) -> Array:
        """Share of the variance of the function that each column explains, with interactions.

        T_j = ½ E[(f(x) − f(x with column j of another row))²], the total effect of column j
        (Jansen 1999, with f the posterior mean), divided by the sum of all; x are some of the rows
        kept, or anchors where none are (these lie close together in columns that matter little).
        Of a transformed y, of counts and of classes f is the function that the model is of; of
        several outputs or classes effects add up. All are zero where f is constant. Where columns
        go together, swapping one of them asks for f where no rows are, and a share says what this
        function does, not what a cause would.

        Computed when first asked for, which takes seconds, then kept in memory: d + 1 predictions
        of each of 1,000 rows, of 300 where these ask nearest rows (100 at most) or an average of
        models; of fewer, but 100, where there are more than 20 columns. Shares are good to about
        0.02 then (of 300 rows).
        """
        if not self.explains:
            raise AttributeError(f"{type(self).__name__} has no feature_importances_")
        check_is_fitted(self)
        return self._made.named("importances", lambda: importances(self)).copy()

    @available_if(is_explained)
    @of_one_state
    def summary(self) -> str:
        """Say in about ten plain lines what was found.

        Rows, columns and chunks; the function, term by term; the noise; transforms; the evidence;
        the columns that matter most (`feature_importances_`, which takes seconds when first asked
        for).

        Returns
        -------
        text : str

        Examples
        --------
        >>> import numpy as np
        >>> from collegium import CommitteeRegressor
        >>> from collegium.kernels import RBF
        >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
        >>> model = CommitteeRegressor(RBF(1.0, [0.7, 9.0]), noise=0.01, learn=False)
        >>> print(model.fit(X, np.sin(2 * X[:, 0])).summary())  # doctest: +ELLIPSIS
        CommitteeRegressor
          rows        100, used as they are (an exact Gaussian process)
          columns     2: x0, x1
          function    a very smooth function (squared exponential), sd 1; length scales x0 0.7, x1 9
          noise       standard deviation 0.1
          errors      of the same size everywhere, normal
          transforms  none
          evidence    log p(y given X) = ...
          matters     x0 100%; 1 hardly
        """
        check_is_fitted(self)
        with single_threaded():
            return summary_of(self)

    @of_one_state
    def explain(
        self,
        X: Any,
        background: Any = None,
        *,
        output: Any = None,
        level: str | None = None,
        error: bool = True,
        n_background: int | None = None,
        n_orders: int | None = None,
        random_state: Any = 0,
    ) -> Explanation:
        """Explain predictions as sums of contributions of the columns, with their errors.

        Contributions are Shapley values over background rows: what a column adds to the mean
        prediction of these rows when its value becomes that of the row explained, averaged over
        all orders in which columns do so. They add up to the prediction. They are exact up to six
        columns, and for means that are sums of kernels which factor over columns; else averages
        over random orders, and `sampling` says how good these are.

        Words, dates and missing values count as one column each. What columns that go together
        have in common is shared out between them, and their contributions ask about rows that
        mix values of different rows, which may be unlike any that was seen (docs/explain.md).

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Rows to explain.
        background : array-like or frame, default=None
            Rows to compare with; None: those that the model keeps (or its anchors).
        output : default=None
            Of several outputs the position of one; of classes the label of one, by default the
            second of two.
        level : str, default=None
            Of classifiers "probability" (the default) or "log odds".
        error : bool, default=True
            Compute errors of contributions: standard deviations by the posterior.
        n_background : int, default=None
            Background rows that are used, at most (100), chosen at random.
        n_orders : int, default=None
            Pairs of random orders for each background row (4), where contributions are not exact.
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        found : Explanation
            `base`, `values` (n, d), `prediction`, `error`, `sampling`, the error bar `sd` and its
            `shares` (noise, lack of rows, extrapolation), and the rows that moved each prediction
            most, `nearest`.

        Examples
        --------
        >>> import numpy as np
        >>> from collegium import CommitteeRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(80, 2))
        >>> model = CommitteeRegressor(random_state=0).fit(X, 3 * X[:, 0] + X[:, 1] ** 2)
        >>> found = model.explain(X[:3])
        >>> bool(np.allclose(found.base + found.values.sum(axis=1), model.predict(X[:3])))
        True
        >>> bool(np.allclose(found.values[:, 0], 3 * (X[:3, 0] - X[:, 0].mean()), atol=0.05))
        True
        """
        check_is_fitted(self)
        return explanation_of(
            self, X, background, output, level, n_background, n_orders,
            yes_or_no(error, "error"), random_state,
        )  # fmt: skip

    @of_one_state
    def save(self, path: str | os.PathLike[str], rows: bool = True) -> None:
        """Write the fitted model to a file, from which `collegium.load` makes it again.

        Parameters
        ----------
        path : str or path
            By custom it ends with ".clg". A file that is there is replaced once the new one is
            complete; where that fails it stays as it was.
        rows : bool, default=True
            False: without rows. The loaded model predicts the same and takes `partial_fit`, but
            a stream can no longer relearn hyperparameters; calibration rows are left out too. A
            model that answers from its rows is refused.
        """
        check_is_fitted(self)
        rows = yes_or_no(rows, "rows")
        files.save(self if rows else self._without_rows(), path, rows=rows)

    def _without_rows(self) -> Any:
        """The estimator without the rows that its answers do not need."""
        found = copy(self)
        found.model_ = without_rows(self.model_)
        found.__dict__.pop("conformal_", None)
        return found

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments and fitted attributes, as a model file stores them; `verbose` is a matter of
        the session, and a loaded model is silent."""
        params, state = self.get_params(deep=False), self.__getstate__()
        paths = {name: os.fspath(v) for name, v in params.items() if isinstance(v, os.PathLike)}
        state.pop(PICKLED_BY)
        state = {name: value for name, value in state.items() if name not in params}
        params = {name: value for name, value in params.items() if name != "verbose"}
        return {**params, **paths}, state

    @classmethod
    def _of_file(cls, params: dict[str, Any], state: dict[str, Any]) -> Any:
        """The estimator of these arguments and fitted attributes."""
        found = cls(**params)
        for name in state:
            if name[:1] == "_" or name[-1:] != "_" or hasattr(cls, name):
                raise ValueError(f"{name} is not an attribute of a fitted {cls.__name__}")
        found.__setstate__({**vars(found), **state, PICKLED_BY: __version__})
        return found

    def __getstate__(self):
        state = super().__getstate__().copy()
        state.pop("_made", None)
        if hasattr(model := state.get("model_"), "keep_files"):
            model.keep_files()
        return {**state, PICKLED_BY: __version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop(PICKLED_BY, "before 0.1.0")
        if version != __version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by collegium {version} and is read by "
                f"{__version__}: it may fail or answer otherwise. `save` writes files that last",
                stacklevel=2,
            )
        super().__setstate__(state)
        if hasattr(self, "model_"):
            self._made = Made()


#: scikit-learn breaks long lines only of classes whose `__repr__` is known to its printer.
_EstimatorPrettyPrinter._dispatch[Estimator.__repr__] = _EstimatorPrettyPrinter._dispatch[
    BaseEstimator.__repr__
]


def fitted(path: str, doc: str) -> Any:
    """A property of a fitted estimator that reads `model_`, by a dotted path."""
    read = attrgetter(path)

    def get(self):
        check_is_fitted(self)
        with single_threaded():
            return read(self.model_)

    return property(get, doc=doc)
