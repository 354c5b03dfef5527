"""Convert scikit-learn's kernels to ours."""

from typing import Any

from .base import Kernel, theirs
from .leaf import Leaf


def as_kernel(kernel: Any) -> Kernel:
    """Translate a scikit-learn kernel; return our own kernels unchanged.

    Raises ValueError, which lists the kernels known, for anything else.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern, ConstantKernel
    >>> as_kernel(ConstantKernel(2.0) * Matern(length_scale=0.5, nu=1.5))
    Matern32(variance=2, length_scale=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if theirs(kernel) == "Sum":
        return as_kernel(kernel.k1) + as_kernel(kernel.k2)
    if theirs(kernel) == "Product":
        return as_kernel(kernel.k1) * as_kernel(kernel.k2)
    for leaf in Leaf.registry:
        found = leaf.from_sklearn(kernel)
        if found is not None:
            return found
    ours = ", ".join(sorted(leaf.__name__ for leaf in Leaf.registry))
    twins = ", ".join(sorted(twin for leaf in Leaf.registry for twin in leaf.sklearn_twins))
    raise ValueError(
        f"kernel={kernel!r} is not a kernel known here: give one of collegium.kernels ({ours}) or "
        f"of scikit-learn ({twins}), or sums and products of them"
    )


def needs_one_column(kernel: Any) -> bool:
    """Say whether a scikit-learn kernel is a covariance in one dimension only."""
    if theirs(kernel) in ("Sum", "Product"):
        return needs_one_column(kernel.k1) or needs_one_column(kernel.k2)
    return theirs(kernel) == "ExpSineSquared"
