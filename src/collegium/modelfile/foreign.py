"""Store objects of NumPy and scikit-learn: random states and kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..kernels.base import theirs
from .errors import ModelFileError

BIT_GENERATORS: dict[str, Any] = {
    one.__name__: one
    for one in (
        np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64
    )
}  # fmt: skip


def node(value: Any, of: Callable[[Any, str], Any]) -> Any:
    """Write a foreign object as JSON, its parts by `of`; None where it is unknown."""
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        return _random_node(state, True, of)
    if isinstance(value, np.random.Generator):
        return _random_node(value.bit_generator.state, False, of)
    name = theirs(value)
    if name is not None and name in _sklearn_kernels():
        params = value.get_params(deep=False)
        return {"sklearn": name, "params": {k: of(v, k) for k, v in params.items()}}
    return None


def _random_node(state: Mapping[str, Any], legacy: bool, of: Callable[[Any, str], Any]) -> Any:
    if state["bit_generator"] not in BIT_GENERATORS:
        return None
    return {"random": of(state, "state"), "legacy": legacy}


def random_state(state: Any, legacy: bool) -> np.random.RandomState | np.random.Generator:
    """Make a RandomState, or a Generator, in this state."""
    if type(state) is not dict or state.get("bit_generator") not in BIT_GENERATORS:
        raise ModelFileError("not the state of random numbers")
    source = BIT_GENERATORS[state["bit_generator"]](0)
    if not legacy:
        source.state = state
        return np.random.Generator(source)
    found = np.random.RandomState(source)
    found.set_state(state)
    return found


def kernel(name: Any, params: dict[str, Any]) -> Any:
    """Make a kernel of scikit-learn."""
    known = _sklearn_kernels()
    if type(name) is not str or name not in known:
        raise ModelFileError(f"{name!r} is not a kernel of scikit-learn that is known here")
    return known[name](**params)


def _sklearn_kernels() -> dict[str, Any]:
    """List the kernels that `kernels.as_kernel` translates, by name."""
    from sklearn.gaussian_process import kernels  # slow to import

    every = (
        kernels.RBF, kernels.Matern, kernels.RationalQuadratic, kernels.ExpSineSquared,
        kernels.DotProduct, kernels.ConstantKernel, kernels.WhiteKernel, kernels.Sum,
        kernels.Product,
    )  # fmt: skip
    return {one.__name__: one for one in every}
