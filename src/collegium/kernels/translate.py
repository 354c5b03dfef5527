"""Convert scikit-learn's kernels to ours."""

from typing import Any

from .base import Kernel, Leaf, theirs


def as_kernel(kernel: Any) -> Kernel:
    """Translate a scikit-learn kernel; return our own kernels unchanged.

    Raises ValueError, with the kernels known, for anything else.

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
        ours = leaf.from_sklearn(kernel)
        if ours is not None:
            return ours
    names = ", ".join(sorted(leaf.__name__ for leaf in Leaf.registry))
    raise ValueError(
        f"kernel={kernel!r} is not a kernel known here: give one of collegium.kernels ({names}), "
        "scikit-learn's RBF, Matern (nu 0.5, 1.5, 2.5, inf), RationalQuadratic, "
        "ExpSineSquared, DotProduct, ConstantKernel or WhiteKernel, or sums and products of them"
    )


def needs_one_column(kernel: Any) -> bool:
    """Whether scikit-learn's kernel is a covariance in one dimension only."""
    if theirs(kernel) in ("Sum", "Product"):
        return needs_one_column(kernel.k1) or needs_one_column(kernel.k2)
    return theirs(kernel) == "ExpSineSquared"
