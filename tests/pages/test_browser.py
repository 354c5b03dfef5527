"""Chromium, where it is installed, opens a page: nothing is cut off, and it is not blank."""

import os
import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from page_cases import numbers

import collegium

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
#: Says how wide the page is; in a copy whose policy allows it.
MEASURE = "<script>document.title = 'wide ' + document.documentElement.scrollWidth</script>"


@pytest.fixture(scope="module")
def html():
    return collegium.report(*numbers()).html


def browser(folder, *words):
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--user-data-dir={folder / 'profile'}"]
    return subprocess.run(
        [CHROMIUM, *options, *words], capture_output=True, text=True, timeout=120,
        env={**os.environ, "HOME": str(folder)}, check=True,
    )  # fmt: skip


def pixels(path):
    """An 8-bit PNG of red, green, blue (and opacity), unfiltered by hand  (h, w, c)."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if name == b"IHDR":
            wide, high, _, kind = struct.unpack(">IIBB", body[:10])
        packed += body if name == b"IDAT" else b""
        at += size + 12
    c = {2: 3, 6: 4}[kind]
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(high, 1 + wide * c)
    out = np.zeros((high + 1, wide + 1, c), dtype=np.int64)
    for i, line in enumerate(lines):
        row, above = out[i + 1], out[i]
        values = line[1:].reshape(wide, c).astype(np.int64)
        if line[0] == 0:
            row[1:] = values
        elif line[0] == 2:
            row[1:] = (values + above[1:]) % 256
        elif line[0] == 1:
            row[1:] = np.cumsum(values, axis=0) % 256
        else:
            for j in range(1, wide + 1):
                left, up, corner = row[j - 1], above[j], above[j - 1]
                if line[0] == 3:
                    guess = (left + up) // 2
                else:
                    p = left + up - corner
                    each = np.abs([p - left, p - up, p - corner])
                    guess = np.choose(each.argmin(axis=0), [left, up, corner])
                row[j] = (values[j - 1] + guess) % 256
    return out[1:, 1:]


@pytest.mark.parametrize("width", [500, 1200])
def test_nothing_is_wider_than_the_window(html, tmp_path, width):
    """A window of chromium is 500 px wide at least, so a narrower page stands in a frame."""
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    path = tmp_path / "page.html"
    path.write_text(copy.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    drawn = browser(tmp_path, f"--window-size={width},800", "--dump-dom", path.as_uri()).stdout
    found = re.search(r"<title>wide (\d+)</title>", drawn)
    assert found and int(found[1]) <= width


def test_a_narrow_page_does_not_scroll_sideways(html, tmp_path):
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    page, outer = tmp_path / "page.html", tmp_path / "outer.html"
    tell = "<script>parent.postMessage(document.documentElement.scrollWidth, '*')</script>"
    page.write_text(copy.replace("</body>", f"{tell}</body>"), encoding="utf-8")
    hear = "<script>onmessage = e => document.title = 'wide ' + e.data</script>"
    outer.write_text(f"<title>no</title>{hear}<iframe src=page.html width=400 style='border:0'>")
    drawn = browser(tmp_path, "--virtual-time-budget=5000", "--dump-dom", outer.as_uri()).stdout
    found = re.search(r"<title>wide (\d+)</title>", drawn)
    assert found and int(found[1]) <= 400


@pytest.mark.parametrize("scheme", [0, 1])
def test_the_picture_is_not_blank_and_follows_light_and_dark(html, tmp_path, scheme):
    path, shot = tmp_path / "page.html", tmp_path / "shot.png"
    path.write_text(html, encoding="utf-8")
    browser(tmp_path, f"--blink-settings=preferredColorScheme={scheme}", "--window-size=600,700",
            f"--screenshot={shot}", path.as_uri())  # fmt: skip
    found = pixels(shot)[..., :3]
    corner = found[2, 2]
    assert (corner.mean() > 200) == (scheme == 1)
    differs = np.abs(found - corner).sum(axis=2) > 60
    assert 0.01 < differs.mean() < 0.6
    assert differs[350:].any()
