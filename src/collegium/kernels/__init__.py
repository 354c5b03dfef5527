"""Covariance functions, one file each; a new file in this folder is found automatically."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Kernel, Leaf
from .columns import On
from .composite import Product, Sum, split_white
from .filtered import Filtered, GaussianFilter, LaplaceFilter
from .translate import as_kernel, needs_one_column

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

globals().update({leaf.__name__: leaf for leaf in Leaf.registry})

__all__ = ["Filtered", "GaussianFilter", "LaplaceFilter", "On"]
__all__ += ["Kernel", "Product", "Sum", "as_kernel", "needs_one_column", "split_white"]
__all__ += sorted(leaf.__name__ for leaf in Leaf.registry)
