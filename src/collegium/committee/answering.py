"""Choose the predictor: default, another n_local, or within a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..interface.checks.arguments import (
    NEAREST,
    USUAL,
    check_is_fitted,
    check_square,
    choose_engine,
    rows_asked,
    whole_number,
)
from ..interface.checks.limits import answer_time_allowed
from ..interface.options import AnswerTime
from ..numerics.clock import Clock
from ..numerics.threads import single_threaded
from ..pipeline.answering import answers_by, chosen, way_is_due, with_n_local
from ..pipeline.asked import nearest_rows
from ..pipeline.layers import Fast
from ..pipeline.model import CommitteeModel
from ..pipeline.settings import Settings
from ..pipeline.systems import check_fitted_answer_time
from ..pipeline.usual import with_usual_cells

#: Names of predictors that are not the model's own.
OTHER_WAYS = ("n_local=", "within=")
#: Share of a time limit for the fit itself, where answers are to be prepared after it.
FITTING = 0.7
#: Where the last search for a way of answering is kept.
CHOSEN = "chosen way"


def predictor_of(estimator: Any, n_local: Any, own: Callable[[], Any]) -> Any:
    """Make the predictor of a fitted model when it is first asked for.

    What a call asks for counts before the argument `n_local`.
    """
    check_is_fitted(estimator)
    limit = answer_time_allowed(estimator.n_local)
    if limit is not None and n_local is None:
        return _kept(estimator, f"within={limit}", partial(_within, estimator, limit))
    asked = _other_rows(estimator, n_local)
    if asked is None:
        asked = _nearest_rows(estimator, n_local)
    if asked is None:
        return own()
    return _kept(estimator, f"n_local={asked}", partial(_with_rows, estimator, asked))


def _kept(estimator: Any, name: str, make: Any) -> Any:
    """Keep what is made under a name, and of those before it the last."""
    others = estimator._made.others
    if name not in others:
        for old in [one for one in others if one.startswith(OTHER_WAYS)][:-1]:
            others.pop(old, None)  # another thread may have been quicker
    return estimator._made.named(name, make)


def _other_rows(estimator: Any, n_local: Any) -> int | None:
    """Nearest rows asked for, where they are not as many as the model has."""
    model = estimator.model_
    if n_local is None:
        n_local = rows_asked(estimator.n_local)
        n_local = nearest_rows(model.anchors.shape[1]) if n_local is None else n_local
    elif isinstance(n_local, str):
        if n_local != NEAREST:
            raise ValueError(
                f"n_local={n_local!r}: give a whole number of at least 0, or 'nearest'"
            )
        n_local = model.sizes.n_local
    else:
        n_local = whole_number(n_local, "n_local", least=0)
    fitted = model.sizes.n_local
    if n_local == fitted or model.sizes.query_size or model.all_rows:
        return None
    if n_local and not fitted:
        raise ValueError(
            f"n_local={n_local}: this model keeps no rows, it was fitted with n_local=0. Leave "
            "n_local out, or fit with another"
        )
    n_local = min(n_local, len(model.kept))
    check_square(n_local, "n_local")
    return n_local


def _nearest_rows(estimator: Any, n_local: Any) -> int | None:
    """Nearest rows of the model, where cells answer by default and rows are asked for."""
    layer = getattr(estimator.model_, "answering", None)
    asked = estimator.n_local if n_local is None else n_local
    if layer is None or layer.cells is None or (isinstance(asked, str) and asked == USUAL):
        return None
    return estimator.model_.sizes.n_local


def _with_rows(estimator: Any, n_local: int) -> Any:
    with single_threaded():
        return with_n_local(estimator.model_, n_local, estimator._say()).predictor()


def _within(estimator: Any, limit: tuple[float, float]) -> Any:
    """Answer in time: as `fit` found it, or looked for now."""
    model = estimator.model_
    check_fitted_answer_time(model)
    with single_threaded():
        fast = model.answering.fast
        if fast is not None and fast.holds(*limit, len(model.kept)):
            return answers_by(model, fast).predictor()
        estimator._made.others[CHOSEN], own = chosen(model, *limit, estimator._say())
        return own


def leaving_time(estimator: Any, settings: Settings) -> Settings:
    """Leave some of the time for `prepare`, where that has something to do."""
    if answer_time_allowed(estimator.n_local) is None:
        return settings
    return replace(settings, clock=settings.clock.share(FITTING))


def prepare(estimator: Any, clock: Clock, *, streaming: bool = False) -> None:
    """Choose how to answer in time, and make what that needs while the clock runs; in a stream,
    where it has grown much since then, and without making anything."""
    limit, model = answer_time_allowed(estimator.n_local), estimator.model_
    if limit is None and not streaming and isinstance(model, CommitteeModel):
        if estimator.n_local == USUAL and not clock.out():
            with single_threaded():
                say = estimator._say().since(clock.start)
                estimator.model_, own = with_usual_cells(model, say)
                estimator._made.value = own
    if limit is None or (streaming and not way_is_due(model, limit)):
        return
    say = estimator._say().since(clock.start)
    engine = choose_engine(estimator.engine, estimator.n_jobs)
    with single_threaded():
        fast, own = chosen(model, *limit, say, clock.out)
        say.task = "preparing answers"
        if not streaming and (number := own.prepare(say.watch(engine), clock.out)):
            say(f"{number} cells are ready")
            if not clock.out():
                fast = replace(fast, cells=own.with_weights())
        estimator.model_ = replace(model, answering=replace(model.answering, fast=fast))
        _kept(estimator, f"within={limit}", lambda: own)


def way_of(estimator: Any) -> Fast | None:
    """The way of answering in time: as the last search found it, or as the model was fitted."""
    if not isinstance(estimator.n_local, AnswerTime) or not hasattr(estimator, "model_"):
        return None
    limit, made = answer_time_allowed(estimator.n_local), getattr(estimator, "_made", None)
    found = None if made is None else made.others.get(CHOSEN)
    layer = getattr(estimator.model_, "answering", None)
    for fast in (found, None if layer is None else layer.fast):
        if fast is not None and (fast.asked, fast.memory) == limit:
            return fast
    return None


def stored_way(
    estimator: Any, params: dict[str, Any], state: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put the way of answering that was found after `fit` into a model file."""
    if (fast := way_of(estimator)) is not None:
        model = state["model_"]
        state["model_"] = replace(model, answering=replace(model.answering, fast=fast))
    return params, state
