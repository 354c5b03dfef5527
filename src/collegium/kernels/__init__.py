"""Covariance functions, one file each; a new file in this folder is found automatically."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Kernel, Leaf
from .columns import Wrapped
from .composite import Product, Sum, split_white
from .filtered import Filtered, GaussianFilter, LaplaceFilter
from .translate import as_kernel, needs_one_column

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_found = [*Leaf.registry, *Wrapped.registry]
globals().update({kernel.__name__: kernel for kernel in _found})

__all__ = ["Filtered", "GaussianFilter", "LaplaceFilter"]
__all__ += ["Kernel", "Product", "Sum", "as_kernel", "needs_one_column", "split_white"]
__all__ += sorted(kernel.__name__ for kernel in _found)
