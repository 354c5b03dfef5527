"""Kernels on a sphere: functions of the chord between places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import Columns, Kernel
from ..columns import On, Wrapped
from ..embedding import Embedding, Globe, on_globe

Array = np.ndarray
#: What columns of longitude and latitude are called.
GEOGRAPHIC = ("lon|longitude|lng|long", "lat|latitude")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Sphere(Wrapped):
    """k of the chord between places, given by longitude and latitude in degrees.

    A kernel of points in space is also a kernel of points on a globe, with no seam at the date
    line or the poles. The globe has a radius of 180/π, so that short chords, and with them the
    single length scale, are in degrees of arc.

    Parameters
    ----------
    kernel : Kernel or class of kernels, such as `Matern32`
        A stationary kernel, with one length scale.
    columns : pair of int or str, default=None
        Longitude and latitude; None: the two columns of X.
    geographic : bool, default=False
        Take the columns called lon (longitude, lng, long) and lat (latitude) of a data frame, and
        no others; `columns` is left out.
    **parameters
        Parameters of the kernel, if its class is given.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Matern32, Sphere
    >>> kernel = Sphere(Matern32, columns=("lon", "lat"), length_scale=5.0)
    >>> places = np.array([[-180.0, 10.0], [180.0, 10.0], [40.0, 90.0], [-70.0, 90.0]])
    >>> kernel.on_columns(["lon", "lat"]).value(places).round(6)
    array([[1., 1., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [0., 0., 1., 1.]])
    """

    def __new__(
        cls, kernel: Any = None, columns: Columns | None = None, *, geographic: bool = False,
        **parameters: Any,
    ) -> Any:  # fmt: skip
        if not isinstance(geographic, bool) or (geographic and columns is not None):
            raise ValueError(
                f"geographic={geographic!r} of Sphere: give True, to find longitude and latitude "
                "by their names, or columns"
            )
        columns = GEOGRAPHIC if geographic else columns
        if columns is None:
            return object.__new__(cls)
        found = On(cls(kernel, **parameters), columns)
        if len(found.columns) != 2:
            raise ValueError(f"columns={columns!r} of Sphere: give longitude and latitude")
        return found

    def __init__(
        self, kernel: Any, columns: None = None, geographic: bool = False, **parameters: Any
    ) -> None:
        if isinstance(kernel, type) and issubclass(kernel, Kernel):
            kernel = kernel(**parameters)
        elif parameters:
            raise ValueError(f"give {', '.join(parameters)} to the kernel, or Sphere its class")
        of_distance = getattr(kernel, "of_distance", False) and not kernel.categories
        if not of_distance or np.ndim(kernel.length_scale):
            raise ValueError(
                f"kernel={kernel!r} of Sphere: give a stationary kernel with one length scale, "
                "such as Matern32"
            )
        object.__setattr__(self, "kernel", kernel)

    def seen(self, X: Array) -> Array:
        self.for_width(X.shape[1])
        return on_globe(X)

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        """Label lengths as degrees of latitude."""
        return tuple((kind, 1) for kind, _ in self.kernel.labels)

    def for_width(self, d: int) -> Self:
        if d != 2:
            raise ValueError(f"Sphere takes longitude and latitude, not {d} columns: give columns")
        return self

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        if levels:
            raise ValueError(
                f"Sphere takes longitude and latitude, but {next(iter(levels.values()))!r} holds "
                "levels: name two columns of numbers"
            )
        return self

    def inverse_squares(self, d: int) -> Array:
        return np.zeros(d)

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        return (Globe((0, 1), float(self.kernel.inverse_squares(3)[0])),)

    def reach(self, gaps: Array) -> Array:
        """Bound k by the gap of latitudes alone: all meridians meet."""
        half = np.minimum(gaps[:, 1], 180.0) * (np.pi / 360.0)
        return self.kernel.reach((360.0 / np.pi * np.sin(half))[:, None])

    def shown(self, names: Sequence[str] = ()) -> str:
        return f"Sphere({self.kernel.shown(names)})"
