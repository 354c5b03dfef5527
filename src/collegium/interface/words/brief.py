"""A fitted model in one line, for its repr."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import Kernel, Product, Sum
from ...kernels.columns import Wrapped
from .summary import TRANSFORMS


def brief_of(estimator: Any) -> str:
    """Rows and columns, classes or members, the kernel and the noise."""
    model, d = estimator.model_, estimator.n_features_in_
    n = getattr(model, "total_weight", None) or getattr(model, "n_seen", 0)
    rows = f"{n:,.10g} rows of " * bool(n) + f"{d} column{'s' * (d != 1)}"
    found = [
        *parts_words(estimator), kernel_words(model), noise_words(estimator),
        *transform_words(estimator),
    ]  # fmt: skip
    text = ", ".join(word for word in found if word)
    return f"fitted to {rows}" + f": {text}" * bool(text)


def parts_words(estimator: Any) -> list[str]:
    """How many classes it tells apart, or members it is made of."""
    counted = {"classes_": "classes", "estimators_": "members"}
    return [
        f"{len(getattr(estimator, name))} {word}"
        for name, word in counted.items()
        if hasattr(estimator, name)
    ]


def kernel_words(model: Any) -> str:
    """Name the kernel's terms; of an averaged model, how many it averages."""
    averaged = getattr(model, "averaged", ())
    if averaged:
        return f"an average over {sum(len(one.shares) for one in averaged)} models"
    kernel = getattr(model, "kernel", None)
    return kernel_name(kernel) if isinstance(kernel, Kernel) else ""


def kernel_name(kernel: Kernel) -> str:
    """The classes of its terms."""
    if isinstance(kernel, (Sum, Product)):
        sign = " + " if isinstance(kernel, Sum) else " * "
        return sign.join(kernel_name(part) for part in kernel.parts)
    own = kernel.kernel if isinstance(kernel, Wrapped) else kernel
    return kernel_name(own) if own is not kernel else type(kernel).__name__


def noise_words(estimator: Any) -> str:
    """The standard deviation of the noise in the units of y, or the likelihood."""
    if name := getattr(estimator.model_, "likelihood_name", ""):
        return f"likelihood {name}"
    noise = getattr(estimator, "noise_", None)
    if noise is None or not np.all(np.asarray(noise) > 0.0):
        return ""
    return "noise sd " + ", ".join(f"{sd:.3g}" for sd in np.sqrt(np.atleast_1d(noise)))


def transform_words(estimator: Any) -> list[str]:
    """The transform of y, if there is one."""
    kinds = getattr(estimator, "target_transform_", None)
    kinds = (kinds,) if kinds is None or isinstance(kinds, str) else kinds
    return [f"y by its {TRANSFORMS.get(one, one)}" for one in dict.fromkeys(kinds) if one]
