"""Maps side by side as one PNG, each with a scale of colours; letters are drawn here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .colours import shades, with_gaps
from .png import png_of_palette

Array = np.ndarray
#: Pixels: a map is at least so wide; around maps; height of a scale of colours.
WIDE, MARGIN, SCALE = 320, 12, 10
#: Positions in the palette of black and of white.
BLACK, WHITE = 253, 254
#: Five by seven dots, a number per line from above, the highest bit to the left.
DOTS = {
    "0": "0e11131519110e", "1": "040c040404040e", "2": "0e11010204081f", "3": "1f02040201110e",
    "4": "02060a121f0202", "5": "1f101e0101110e", "6": "0608101e11110e", "7": "1f010204080808",
    "8": "0e11110e11110e", "9": "0e11110f01020c", ".": "00000000000c0c", "-": "0000001f000000",
    "+": "0004041f040400", "a": "00000e010f110f", "b": "1010161911111e", "c": "00000e1010110e",
    "d": "01010d1311110f", "e": "00000e111f100e", "f": "0609081c080808", "g": "000f11110f010e",
    "h": "10101619111111", "i": "04000c0404040e", "j": "0200060202120c", "k": "10101214181412",
    "l": "0c04040404040e", "m": "00001a15151111", "n": "00001619111111", "o": "00000e1111110e",
    "p": "00001e111e1010", "q": "00000d130f0101", "r": "00001619101010", "s": "00000e100e011e",
    "t": "08081c08080906", "u": "0000111111130d", "v": "00001111110a04", "w": "0000111115150a",
    "x": "0000110a040a11", "y": "000011110f010e", "z": "00001f0204081f", " ": "00000000000000",
}  # fmt: skip
UNKNOWN = "1f11111111111f"


def picture_of(bands: Mapping[str, Array]) -> bytes:
    """A PNG of arrays (height, width), their first line above, each with its name and range.

    Examples
    --------
    >>> import numpy as np
    >>> picture_of({"mean": np.arange(12.0).reshape(3, 4), "sd": np.ones((3, 4))})[1:4]
    b'PNG'
    """
    colours = with_gaps().copy()
    colours[BLACK], colours[WHITE] = (20, 20, 20), (255, 255, 255)
    return png_of_palette(
        np.concatenate([panel(name, values) for name, values in bands.items()], axis=1), colours
    )


def panel(name: str, values: Array) -> Array:
    """Positions in the palette: a title, a map and its scale of colours, with margins."""
    values = np.asarray(values, dtype=float)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    times = max(-(-WIDE // values.shape[1]), 1) if values.shape[1] < WIDE else 1
    inner = np.repeat(np.repeat(_seen(values, low, high), times, axis=0), times, axis=1)
    high_in, wide_in = inner.shape
    text = 14  # two dots a pixel
    out = np.full((high_in + SCALE + 2 * text + 5 * MARGIN, wide_in + 2 * MARGIN), WHITE, np.uint8)
    left, right = MARGIN, MARGIN + wide_in
    write_text(out, name, left, MARGIN)
    top = MARGIN + text + MARGIN
    out[top : top + high_in, left:right] = inner
    below = top + high_in + MARGIN
    ramp = np.linspace(low, high if high > low else low + 1.0, wide_in)
    out[below : below + SCALE, left:right] = _seen(ramp, low, high)
    ends, under = [f"{low:.4g}", f"{high:.4g}"], below + SCALE + MARGIN // 2
    write_text(out, ends[0], left, under)
    write_text(out, ends[1], right - 12 * len(ends[1]), under)
    return out


def _seen(values: Array, low: float, high: float) -> Array:
    """Positions that leave black and white to letters."""
    found = shades(values, low, high)
    return np.where((found == BLACK) | (found == WHITE), np.uint8(BLACK - 1), found)


def write_text(out: Array, text: str, left: int, top: int) -> None:
    """Draw letters of 10 × 14 pixels, as many as there is room for."""
    for k, letter in enumerate(text.lower()):
        dots = letter_dots(letter).repeat(2, axis=0).repeat(2, axis=1)
        at = left + 12 * k
        if at < 0 or at + dots.shape[1] > out.shape[1]:
            break
        part = out[top : top + dots.shape[0], at : at + dots.shape[1]]
        part[dots] = BLACK


def letter_dots(letter: str) -> Array:
    """Whether each dot of a letter is black  (7, 5)."""
    rows = np.frombuffer(bytes.fromhex(DOTS.get(letter, UNKNOWN)), dtype=np.uint8)
    return np.unpackbits(rows[:, None], axis=1)[:, 3:].astype(bool)
