"""Threads that share an estimator: writers take turns, readers see one state and never wait."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, get_ident
from typing import Any, TypeVar, cast
from weakref import finalize

from ..numerics.compiling import interrupts

Method = TypeVar("Method", bound=Callable[..., Any])


class _Turn:
    """The lock of one estimator, and the thread that holds it."""

    def __init__(self) -> None:
        self.lock, self.holder = Lock(), 0
        self.inner = False  # whether the estimator is the copy that a call works on

    @contextmanager
    def taken(self, estimator: Any) -> Iterator[None]:
        """Wait for other threads; raise where this one is in the midst of a turn."""
        if self.holder == get_ident():
            raise RuntimeError(
                f"this {type(estimator).__name__} is being changed by a call that has not ended, "
                "and that call would overwrite another change. Change it after the call, or "
                "change a copy"
            )
        with self.lock:
            self.holder = get_ident()
            try:
                yield
            finally:
                self.holder = 0


class _Turns:
    """One turn per estimator, kept beside it: no part of its state, its copies or its file."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start without locks: after a fork, threads that held some are gone."""
        self.lock, self.each = Lock(), cast("dict[int, _Turn]", {})

    def of(self, estimator: Any) -> _Turn:
        """Find it by identity: estimators may be equal, or have no hash."""
        with self.lock:
            key = id(estimator)
            if key not in self.each:
                self.each[key] = _Turn()
                finalize(estimator, self.each.pop, key, None).atexit = False
            return self.each[key]


_turns = _Turns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turns.forget)


def as_it_is(estimator: Any) -> Any:
    """An estimator of the same attributes, taken in one step; what is made lazily is shared."""
    other = object.__new__(type(estimator))
    other.__dict__ = vars(estimator).copy()
    return other


def all_or_nothing(method: Method) -> Method:
    """A method that changes an estimator in one step at its end, or leaves it as it was.

    Such methods of one estimator take turns, so that none overwrites what another has learnt.
    Arguments set meanwhile stay. None may be called from within another, by a callback say. Rows
    on disk are confirmed by the outermost call, before the change: if that fails, there is none.
    """

    @wraps(method)
    def attempt(self, *arguments, **keywords):
        turn = _turns.of(self)
        with turn.taken(self), interrupts():
            work = as_it_is(self)
            _turns.of(work).inner = True
            found = method(work, *arguments, **keywords)
            own = vars(self)
            model, before = vars(work).get("model_"), own.get("model_")
            if hasattr(model, "confirm_rows") and not turn.inner:
                model.confirm_rows(before)
            params = {name: own[name] for name in self._get_param_names() if name in own}
            self.__dict__ = {**vars(work), **params}
        return self if found is work else found

    return cast(Method, attempt)


def of_one_state(method: Method) -> Method:
    """A method that reads an estimator as it was when the call began, whoever changes it."""

    @wraps(method)
    def read(self, *arguments, **keywords):
        return method(as_it_is(self), *arguments, **keywords)

    return cast(Method, read)
