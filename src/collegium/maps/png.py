"""PNG files of pixels, by zlib alone."""

from __future__ import annotations

import struct
import zlib

import numpy as np

Array = np.ndarray
SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Kinds of pixels: red, green and blue; positions in a palette; with opacity.
COLOURS, PALETTE, OPACITY = 2, 3, 6
#: Of each line: as it is, minus the pixel to the left, minus the pixel above.
PLAIN, LEFT, ABOVE = 0, 1, 2


def png_of_colours(pixels: Array) -> bytes:
    """A PNG of red, green and blue, and of opacity where a fourth number is given.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3) or (height, width, 4)
        The first line is the upper one.

    Returns
    -------
    data : bytes
        Equal for equal pixels, and the same version of zlib.

    Examples
    --------
    >>> import numpy as np
    >>> png_of_colours(np.zeros((2, 3, 3), dtype=np.uint8))[1:4]
    b'PNG'
    """
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4):
        raise ValueError(
            f"pixels have shape {pixels.shape} of {pixels.dtype}: give uint8 (height, width, 3 or "
            "4)"
        )
    _check_size(pixels)
    kind = OPACITY if pixels.shape[2] == 4 else COLOURS
    return _png(_filtered(pixels), pixels.shape, kind)


def png_of_palette(index: Array, colours: Array) -> bytes:
    """A PNG whose pixels are positions in a list of colours: a third of the size, or less.

    Parameters
    ----------
    index : uint8 array of shape (height, width)
        Positions in `colours`; the first line is the upper one.
    colours : uint8 array of shape (k, 3) or (k, 4), k up to 256
        Red, green, blue, and opacity where a fourth number is given.

    Returns
    -------
    data : bytes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.maps.colours import palette
    >>> len(png_of_palette(np.zeros((100, 100), dtype=np.uint8), palette())) < 1000
    True
    """
    index, colours = np.asarray(index), np.asarray(colours)
    if index.dtype != np.uint8 or index.ndim != 2:
        raise ValueError(f"index has shape {index.shape} of {index.dtype}: give uint8 (height, "
                         "width)")  # fmt: skip
    known = colours.ndim == 2 and colours.shape[1] in (3, 4) and 0 < colours.shape[0] <= 256
    if not known or colours.dtype != np.uint8:
        raise ValueError(f"colours have shape {colours.shape} of {colours.dtype}: give uint8 (k, 3 "
                         "or 4), k up to 256")  # fmt: skip
    if index.size and index.max() >= colours.shape[0]:
        raise ValueError(f"index has {index.max()}, and there are {colours.shape[0]} colours")
    _check_size(index)
    more = _chunk(b"PLTE", np.ascontiguousarray(colours[:, :3]).tobytes())
    if colours.shape[1] == 4:
        more += _chunk(b"tRNS", np.ascontiguousarray(colours[:, 3]).tobytes())
    lines = np.concatenate([np.full((index.shape[0], 1), PLAIN, np.uint8), index], axis=1)
    return _png(lines, index.shape, PALETTE, more)


def _check_size(pixels: Array) -> None:
    if not pixels.size:
        raise ValueError(f"a picture of {pixels.shape[1]} × {pixels.shape[0]} pixels has none")


def _png(lines: Array, shape: tuple[int, ...], kind: int, more: bytes = b"") -> bytes:
    """Put chunks together; `lines` (height, bytes) begin with the number of their filter."""
    high, wide = shape[:2]
    head = struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0)
    data = zlib.compress(np.ascontiguousarray(lines).tobytes(), 9)
    return SIGNATURE + _chunk(b"IHDR", head) + more + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check


def _filtered(pixels: Array) -> Array:
    """Lines as differences of neighbours, whichever of `PLAIN, LEFT, ABOVE` is smallest in sum
    (the heuristic of the PNG specification, 12.8)."""
    left, above = pixels.copy(), pixels.copy()
    left[:, 1:] -= pixels[:, :-1]
    above[1:] -= pixels[:-1]
    each = np.stack([one.reshape(one.shape[0], -1) for one in (pixels, left, above)])
    size = np.abs(each.view(np.int8).astype(np.int16)).sum(axis=2)
    best = size.argmin(axis=0)
    lines = each[best, np.arange(pixels.shape[0])]
    return np.concatenate([best[:, None].astype(np.uint8), lines], axis=1)
