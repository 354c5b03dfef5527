"""Threads that share an estimator: writers take turns, readers see one state and never wait."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import Lock, RLock
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from ..numerics.compiling import interrupts

Method = TypeVar("Method", bound=Callable[..., Any])


class _Turns:
    """One lock per estimator, kept beside it: no part of its state, its copies or its file."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start without locks: after a fork, threads that held some are gone."""
        self.lock, self.locks = Lock(), cast("WeakKeyDictionary[Any, Any]", WeakKeyDictionary())

    def of(self, estimator: Any) -> Any:
        with self.lock:
            return self.locks.setdefault(estimator, RLock())


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
    Arguments set meanwhile stay.
    """

    @wraps(method)
    def attempt(self, *arguments, **keywords):
        with _turns.of(self), interrupts():
            work = as_it_is(self)
            found = method(work, *arguments, **keywords)
            own = vars(self)
            params = {name: own[name] for name in self._get_param_names() if name in own}
            self.__dict__ = {**vars(work), **params}
            if hasattr(model := vars(self).get("model_"), "confirm_rows"):
                model.confirm_rows()
        return self if found is work else found

    return cast(Method, attempt)


def of_one_state(method: Method) -> Method:
    """A method that reads an estimator as it was when the call began, whoever changes it."""

    @wraps(method)
    def read(self, *arguments, **keywords):
        return method(as_it_is(self), *arguments, **keywords)

    return cast(Method, read)
