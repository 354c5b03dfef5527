"""Covariance functions, one file each; a new file in this folder or below it is found by itself."""

from importlib import import_module
from pkgutil import walk_packages

from .base import Kernel
from .columns import Wrapped
from .composite import Product, Sum, split_white
from .factored.feature_map import FeatureMap
from .factored.filtered import Filtered, GaussianFilter, LaplaceFilter
from .leaf import Leaf, as_kernel, needs_one_column

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

_found = [*Leaf.registry, *Wrapped.registry]
globals().update({kernel.__name__: kernel for kernel in _found})

__all__ = ["FeatureMap", "Filtered", "GaussianFilter", "LaplaceFilter"]
__all__ += ["Kernel", "Product", "Sum", "as_kernel", "needs_one_column", "split_white"]
__all__ += sorted(kernel.__name__ for kernel in _found)
