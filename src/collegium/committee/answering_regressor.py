"""Who answers for CommitteeRegressor: as it was fitted, from other rows, or within a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..interface.arguments import check_square, choose_engine, number_or_auto, whole_number
from ..interface.limits import answer_time_allowed
from ..numerics.threads import single_threaded
from .answer_arguments import check_answer_time
from ..pipeline.answering import chosen, due, with_n_local
from ..pipeline.settings import nearest_rows

#: Names of predictors that are not the model's own.
OTHER_WAYS = ("n_local=", "answer_time=")
#: Where the last search for a way of answering is kept.
CHOSEN = "chosen way"


class InTime:
    """Makes predictors when they are first asked for; none is stored."""

    def _predictor(self: Any, n_local: Any = None) -> Any:
        """Of the model as it was fitted; or with other nearest rows, or within `answer_time`.

        Each is made when first asked for. What a call asks for counts before `answer_time`, and
        that before `n_local`.
        """
        check_is_fitted(self)
        limit = answer_time_allowed(self.answer_time)
        if limit is not None and n_local is None:
            return self._kept(f"answer_time={limit}", partial(self._within, limit))
        asked = self._other_rows(n_local)
        if asked is not None:
            return self._kept(f"n_local={asked}", partial(self._with_rows, asked))
        return super()._predictor()  # type: ignore[misc]

    def _kept(self: Any, name: str, make: Any) -> Any:
        """What was made under a name; of those before it only the last is kept, too."""
        others = self._made.others
        if name not in others:
            for old in [one for one in others if one.startswith(OTHER_WAYS)][:-1]:
                others.pop(old)
        return self._made.named(name, make)

    def _other_rows(self: Any, n_local: Any) -> int | None:
        """Nearest rows, where they are not as many as the model has."""
        model = self.model_
        if n_local is None:
            n_local = number_or_auto(self.n_local, "n_local", least=0)
            n_local = nearest_rows(model.anchors.shape[1]) if n_local is None else n_local
        else:
            n_local = whole_number(n_local, "n_local", least=0)
        if n_local == model.n_local or model.query_size or model.all_rows:
            return None
        if n_local and not model.n_local:
            raise ValueError(
                f"n_local={n_local}: this model keeps no rows, it was fitted with n_local=0. Leave "
                "n_local out, or fit with another"
            )
        n_local = min(n_local, getattr(model, "n_kept", n_local))
        check_square(n_local, "n_local")
        return n_local

    def _with_rows(self: Any, n_local: int) -> Any:
        with single_threaded():
            return with_n_local(self.model_, n_local, self._say()).predictor()

    def _within(self: Any, limit: tuple[float, float]) -> Any:
        """Who answers in time: as `fit` found it, or looked for now."""
        model = self.model_
        check_answer_time(
            gaussian=model.given is None, transductive=model.query_size > 0,
            keeps_rows=model.n_local > 0,
        )  # fmt: skip
        with single_threaded():
            if model.fast is not None and model.fast.holds(*limit, model.n_kept):
                return model.fast.of(model).predictor()
            self._made.others[CHOSEN], own = chosen(model, *limit, self._say())
            return own

    def _prepare(self: Any, *, streaming: bool = False) -> None:
        """Choose how to answer in time, and make what that needs; in a stream, where it has grown
        much since then, and without making anything."""
        limit, model = answer_time_allowed(self.answer_time), self.model_
        if limit is None or (streaming and not due(model, limit)):
            return
        say, engine = self._say(), choose_engine(self.engine, self.n_jobs)
        with single_threaded():
            fast, own = chosen(model, *limit, say)
            say.task = "preparing answers"
            if not streaming and (number := own.prepare(say.watch(engine))):
                say(f"{number} cells are ready")
                fast = replace(fast, cells=own.with_weights())
            self.model_ = replace(model, fast=fast)
            self._kept(f"answer_time={limit}", lambda: own)

    @property
    def answer_ways_(self: Any) -> list[tuple[str, float, float]]:
        """Ways of answering that were tried for `answer_time`: words, milliseconds a row, and the
        mean log density of rows left out, of standardised y (−inf: too slow to be looked at; inf:
        all rows, as the model was fitted). The one that is used comes first."""
        check_is_fitted(self)
        fast = self._fast()
        if fast is None:
            raise AttributeError("answer_ways_ is of models that have chosen one: set answer_time")
        return sorted(fast.tried, key=lambda one: one[0] != fast.words)

    def _fast(self: Any) -> Any:
        """How it answers in time: as the last search found it, or as it was fitted."""
        if self.answer_time is None or not hasattr(self, "model_"):
            return None
        limit, made = answer_time_allowed(self.answer_time), getattr(self, "_made", None)
        found = None if made is None else made.others.get(CHOSEN)
        for fast in (found, getattr(self.model_, "fast", None)):
            if fast is not None and (fast.asked, fast.memory) == limit:
                return fast
        return None

    def _file_parts(self: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """With the way of answering that was found after `fit`."""
        params, state = super()._file_parts()  # type: ignore[misc]
        if (fast := self._fast()) is not None:
            state["model_"] = replace(state["model_"], fast=fast)
        return params, state
