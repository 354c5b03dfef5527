"""Files of earlier releases open, and predict as they did."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium.messages.probe import probe
from collegium.modelfile.files import versions
from golden.make import ANSWERS, HERE, answers

FILES = sorted(HERE.glob("*/*.clg"))


#: Models of compiled loops that the probe does not try.
LOOPS = ("filter", "rvc", "online", "online classes")


def test_there_are_some():
    releases = {path.parent for path in FILES}
    assert releases and all((folder / ANSWERS).exists() for folder in releases)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_golden_file_answers_as_it_did(path):
    """To the last bit with the same libraries and the same rounding, else to ten digits."""
    expected = json.loads((path.parent / ANSWERS).read_text())
    found = answers(collegium.load(path), np.array(expected["queries"]))
    with zipfile.ZipFile(path) as archive:
        said = json.loads(archive.read("manifest.json"))
    same = {**said["versions"], "collegium": ""} == {**versions(), "collegium": ""}
    wanted = expected["answers"][path.stem]
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        if same and said["probe"] == probe() and path.stem not in LOOPS:
            assert_array_equal(found[name], values)
        else:
            assert_allclose(found[name], values, rtol=1e-10, atol=1e-12)
