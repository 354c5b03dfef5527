"""PNG files are read back by another library; the colour map is even and safe."""

import io
import zlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.maps.colours import GREY, palette, path, shades, to_srgb, with_gaps
from collegium.maps.png import png_of_colours, png_of_palette

RNG = np.random.default_rng(3)


def read(data):
    """Pixels of a PNG, by matplotlib (pillow)."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(data))
    return np.asarray(image.convert("RGBA"))


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("kind", ["noise", "slope", "flat"])
def test_colours_come_back(depth, kind):
    pixels = RNG.integers(0, 256, (13, 29, depth), dtype=np.uint8)
    if kind == "slope":
        pixels[...] = np.add.outer(np.arange(13) * 7, np.arange(29) * 3)[:, :, None] % 256
    if kind == "flat":
        pixels[...] = 7
    found = read(png_of_colours(pixels))
    assert_array_equal(found[:, :, :depth], pixels)
    if depth == 3:
        assert (found[:, :, 3] == 255).all()


@pytest.mark.parametrize("depth", [3, 4])
def test_palettes_come_back(depth):
    colours = RNG.integers(0, 256, (200, depth), dtype=np.uint8)
    index = RNG.integers(0, 200, (17, 31), dtype=np.uint8)
    assert_array_equal(read(png_of_palette(index, colours))[:, :, :depth], colours[index])


def test_smooth_pictures_are_small():
    slope = np.add.outer(np.arange(300), np.arange(300)) / 599.0
    pixels = palette()[np.round(255 * slope).astype(int)]
    plain = len(zlib.compress(pixels.tobytes(), 9))
    index = np.round(255 * slope).astype(np.uint8)
    assert len(png_of_palette(index, palette())) < len(png_of_colours(pixels)) < plain


@pytest.mark.parametrize("pixels", [
    np.zeros((3, 3), np.uint8), np.zeros((3, 3, 2), np.uint8), np.zeros((3, 3, 3)),
    np.zeros((0, 3, 3), np.uint8),
])  # fmt: skip
def test_other_arrays_are_refused(pixels):
    with pytest.raises(ValueError, match="pixels"):
        png_of_colours(pixels)


def test_positions_beyond_the_palette_are_refused():
    with pytest.raises(ValueError, match="index has 9, and there are 9 colours"):
        png_of_palette(np.full((2, 2), 9, np.uint8), palette(9))
    with pytest.raises(ValueError, match="colours have shape"):
        png_of_palette(np.zeros((2, 2), np.uint8), np.zeros((300, 3), np.uint8))
    with pytest.raises(ValueError, match="index has shape"):
        png_of_palette(np.zeros((2, 2)), palette(9))


# -- the colour map ---------------------------------------------------------------------------


def to_oklab(rgb):
    """Oklab of sRGB by the formulas of Ottosson (2020), the other way round."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                      [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    lab = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                    [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
    return np.cbrt(linear @ cones.T) @ lab.T


def test_steps_look_equal_and_grow_lighter():
    shown = to_srgb(path(256))
    assert shown.min() >= 0.0 and shown.max() <= 1.0, "beyond what a screen shows"
    lab = to_oklab(shown)
    assert_allclose(lab, path(256), atol=1e-6)
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() < 1.01 * steps.min()
    assert (np.diff(lab[:, 0]) > 0.0).all()


@pytest.mark.parametrize("lacking", [
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
     [-0.003882, -0.048116, 1.051998]],  # protanopia
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
     [-0.011820, 0.042940, 0.968881]],  # deuteranopia
])  # fmt: skip
def test_steps_stay_apart_for_the_colour_blind(lacking):
    """Machado, Oliveira & Fernandes (2009), table 1, severity 1."""
    rgb = to_srgb(path(256))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(lacking).T, 0.0, 1.0)
    lightness = to_oklab(np.where(seen <= 0.0031308, 12.92 * seen,
                                  1.055 * seen ** (1 / 2.4) - 0.055))[:, 0]  # fmt: skip
    assert (np.diff(lightness) > 0.0).all()


def test_shades_of_values_and_gaps():
    values = np.array([[-5.0, 0.0, 5.0], [10.0, 99.0, np.nan]])
    found = shades(values, 0.0, 10.0)
    assert_array_equal(found, [[0, 0, 127], [254, 254, 255]])
    assert tuple(with_gaps()[255]) == GREY and with_gaps().shape == (256, 3)
    assert_array_equal(with_gaps()[:255], palette(255))
    assert (shades(np.ones((2, 2)), 1.0, 1.0) == 0).all()
