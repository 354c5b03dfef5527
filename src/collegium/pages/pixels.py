"""Pictures of pixels: densities of points, and maps."""

from __future__ import annotations

from base64 import b64encode

import numpy as np

from ..maps.colours import palette, shades, with_gaps
from ..maps.png import png_of_palette

Array = np.ndarray
#: Pixels of a density; its colour, which shows on light and on dark.
SIDE, BLUE = 72, (46, 134, 193)


def address_of(png: bytes) -> str:
    return f"data:image/png;base64,{b64encode(png).decode()}"


def density_picture(x: Array, y: Array, ends: tuple[float, float]) -> str:
    """Shades of the number of points in each pixel of a square, on a logarithmic scale."""
    count = np.histogram2d(y, x, SIDE, (ends, ends))[0][::-1]
    dense = np.log1p(count) / np.log1p(max(count.max(), 1.0))
    index = np.where(count > 0, np.round(40 + 215 * dense), 0).astype(np.uint8)
    colours = np.empty((256, 4), dtype=np.uint8)
    colours[:, :3] = BLUE
    colours[:, 3] = np.arange(256)
    return address_of(png_of_palette(index, colours))


def map_picture(values: Array, low: float, high: float) -> str:
    """Colours of values (height, width), the first line at the bottom; grey where there is none."""
    return address_of(png_of_palette(shades(values, low, high)[::-1], with_gaps()))


def scale_picture() -> str:
    """The colours from low to high, from the bottom to the top."""
    return address_of(png_of_palette(np.arange(254, -1, -1, dtype=np.uint8)[:, None], palette(255)))
