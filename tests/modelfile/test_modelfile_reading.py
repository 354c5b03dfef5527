"""Damaged, cut, invented: a bad file is a ModelFileError, and takes little memory."""

import ast
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import collegium
from collegium import ModelFileError
from collegium.modelfile import files, tree
from collegium.modelfile.archive import MANIFEST, Entry, Layout
from collegium.modelfile.arrays import Described, describe, raw
from estimator_cases import committee, rows
from hanging import within

ROOT = Path(collegium.__file__).parent
#: Bytes that reading costs beside those of arrays: Python objects of a small manifest.
BESIDE = 4_000_000


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a file with two dtypes and several entries."""
    path = tmp_path_factory.mktemp("good") / "good.clg"
    X, y = rows(600)
    committee("local", chunks=60, anchors=30).fit(X, y).save(path)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) > 3
    return path.read_bytes()


def said_by(data):
    start = len(Entry(MANIFEST, 0, 0, 0, aligned=False).header)
    length = struct.unpack("<I", data[22:26])[0]
    return json.loads(data[start : start + length])


def contents(data):
    """Arrays of a good file."""
    text = json.dumps(said_by(data), separators=(",", ":")).encode()
    described = [Described.of(one, "", len(data)) for one in said_by(data)["arrays"]]
    layout = Layout.of(text, described)
    return [
        np.frombuffer(data, one.dtype, int(np.prod(one.shape)), layout.data_at(i)).reshape(
            one.shape, order="F" if one.fortran else "C"
        )
        for i, one in enumerate(described)
    ]


def built(said, arrays) -> bytes:
    """A file whose checksums are right, of any manifest."""
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    described = [describe(np.asarray(a)) for a in arrays]
    layout = Layout.of(text, described)
    pieces = list(layout.between())
    found = pieces[0][2] + text
    for (_, _, header), array in zip(pieces[1:-1], arrays):
        found += header + bytes(raw(np.asarray(array)))
    return found + pieces[-1][2]


@pytest.fixture
def refused(tmp_path):
    """Whether a file of these bytes is refused, within its memory."""
    path = tmp_path / "bad.clg"

    def check(data, match=None, **how):
        path.write_bytes(data)
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError, match=match):
                collegium.load(path, **how)
            assert tracemalloc.get_traced_memory()[1] <= 1.5 * len(data) + BESIDE
        finally:
            tracemalloc.stop()

    return check


def test_the_builder_builds_what_save_does(good, tmp_path):
    again = built(json.dumps(said_by(good), separators=(",", ":")).encode(), contents(good))
    assert again == good


def test_a_flipped_bit_in_any_entry_is_found_and_named(good, refused):
    rng = np.random.default_rng(0)
    text = json.dumps(said_by(good), separators=(",", ":")).encode()
    layout = Layout.of(text, [Described.of(one, "", len(good)) for one in said_by(good)["arrays"]])
    ends = [*(entry.at for entry in layout.entries[1:]), layout.end]
    for entry, end in zip(layout.entries, ends):
        for at in {entry.start, end - 1, *rng.integers(entry.start, end, 4).tolist()}:
            refused(flipped(good, at, int(rng.integers(8))), match=entry.name)
        for mapped in (True, False):
            refused(flipped(good, entry.start + entry.size // 2, 3), match=entry.name, mmap=mapped)


def flipped(data, at, bit):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_any_byte_between_is_found_without_reading_arrays(good, refused, every):
    """Headers, names, padding, directory, end: all but the numbers, in one bit each."""
    text = json.dumps(said_by(good), separators=(",", ":")).encode()
    layout = Layout.of(text, [Described.of(one, "", len(good)) for one in said_by(good)["arrays"]])
    rng = np.random.default_rng(1)
    for name, at, expected in layout.between():
        for i in range(at, at + len(expected), every):
            refused(flipped(good, i, int(rng.integers(8))), match=name, verify=False)


def test_files_that_were_cut_or_grew(good, refused):
    for n in (0, 1, 29, 43, 100, len(good) // 3, len(good) - 22, len(good) - 1):
        refused(good[:n])
    for extra in (b"\0", good):
        refused(good + extra, match="bytes instead of")
        refused(extra + good)


def test_newer_files_name_the_version_to_install(good, refused):
    said = said_by(good)
    newer = {**said, "version": 2, "requires": "1.4.0", "model": {"what": "ever"}, "arrays": 3}
    refused(built(newer, []), match="install collegium 1.4.0 or later")
    node = {"record": "messages.new/7", "fields": {}}
    refused(built({**said, "requires": "0.9", "model": node, "arrays": []}, []),
            match="messages.new/7 is not known.*install collegium 0.9")  # fmt: skip
    refused(built({**said, "requires": "0.1.0", "model": node, "arrays": []}, []),
            match="messages.new/7 is not known.*before 0.2.0 .*save the model again")  # fmt: skip
    fields = {"X": 1, "y": 2, "w": 3, "extra": 4, "group": 5, "z": 6}
    node = {"record": "rows.rows/1", "fields": fields}
    refused(built({**said, "model": node, "arrays": []}, []), match=r"\['z'\].*install")


def test_fields_that_came_later_have_their_defaults(good, tmp_path):
    """A file of an earlier release, whose records had fewer fields."""
    said = said_by(good)
    model = said["model"]["state"]["model_"]["fields"]
    assert "stream" in model and model.pop("stream") is not None
    (tmp_path / "old.clg").write_bytes(built(said, contents(good)))
    assert collegium.load(tmp_path / "old.clg").model_.stream.learnt_at == 0


#: Manifests that say what no model is.
NODES = [
    {"record": "rows.rows/1"}, {"record": "rows.rows/1", "fields": {}}, {"array": 0}, [], 3, None,
    {"array": 10**9}, {"array": -1}, {"array": True}, {"array": 0, "axes": [0, 0]}, {"dict": [[1]]},
    {"array": 0, "at": 1e9, "shape": [1]}, {"array": 0, "at": 0, "shape": [2**61, 4]},
    {"array": 0, "at": -1, "shape": [1]}, {"array": 0, "at": 0}, {"array": 0, "fixed": 1},
    {"objects": ["a"], "shape": [2**40]}, {"objects": [[1]], "shape": [1]}, {"scalar": ["O", 1]},
    {"objects": ["a"], "shape": [-1]}, {"scalar": ["<f8", "x"]}, {"scalar": ["<U9999999999", "x"]},
    {"scalar": 3}, {"float": "1e999"}, {"float": 3}, {"list": 3}, {"dict": [[{"list": []}, 1]]},
    {"dict": 3}, {"record": ["x"], "fields": {}}, {"record": "own.os/1", "fields": {}},
    {"record": "kernel.rbf/1", "fields": {"variance": -1.0}}, {"sklearn": "RBF", "params": []},
    {"record": "os.system/1", "fields": {}}, {"random": 3, "legacy": True},
    {"record": "kernel.rbf/1", "fields": {"variance": {"list": [[]]}}}, {"sklearn": "eval"},
    {"record": "estimator.committeeregressor/1", "fields": {}},
    {"estimator": "kernel.rbf/1", "params": {}, "state": {}}, {"sklearn": "Kernel", "params": {}},
    {"estimator": "estimator.regressor/1", "params": {}, "state": {}},
    {"estimator": "estimator.committeeregressor/1", "params": {"x": 1}, "state": {}},
    *({"estimator": "estimator.committeeregressor/1", "params": {}, "state": {name: 1}}
      for name in ("predict", "__class__", "_made", "kernel_", "_", "")),
    {"random": {"dict": [["bit_generator", "PCG64"]]}, "legacy": False}, {"what": 1}, {},
    {"random": {"dict": [["bit_generator", "MT19937"], ["state", 3]]}, "legacy": True},
    10**300,
]  # fmt: skip


@pytest.mark.parametrize("node", NODES, ids=lambda node: str(node)[:60])
def test_manifests_of_no_model(good, refused, node):
    said, array = said_by(good), np.arange(6.0)
    listed = [describe(array).node()]
    refused(built({**said, "model": node, "arrays": listed}, [array]))
    inside = {"estimator": "estimator.committeeregressor/1", "params": {}, "state": {"a_": node}}
    if isinstance(node, dict) and node != {"array": 0}:
        refused(built({**said, "model": inside, "arrays": listed}, [array]))


@pytest.mark.parametrize("change", [
    {"dtype": "|O"}, {"dtype": "|O8"}, {"dtype": "<f16"}, {"dtype": "<V8"}, {"dtype": ["<f8"]},
    {"dtype": "<M8[s]"}, {"dtype": "=f8"}, {"dtype": "<i8"}, {"dtype": ">f8"}, {"shape": [3, 2]},
    {"shape": [7]}, {"shape": [-6]}, {"shape": [2**62]}, {"shape": [2**40, 2**40]}, {"shape": 6},
    {"shape": [6.0]}, {"shape": [True] * 3}, {"shape": [1] * 40}, {"shape": [10**30]},
    {"shape": [0, 2**63]}, {"order": "K"}, {"order": "F"}, {"crc32": -1}, {"crc32": 2**32},
    {"crc32": 0}, {"crc32": None}, {"sha256": "0" * 64}, {"sha256": "0"}, {"sha256": None},
    {"more": 1}, {"dtype": "<U99999"}, {"dtype": "|S999999"}, {"dtype": ""}, {"shape": []},
], ids=str)  # fmt: skip
def test_claims_about_arrays_that_are_not_true(good, refused, change):
    array = np.arange(6.0)
    own = {**describe(array).node(), **change}
    refused(built({**said_by(good), "model": {"array": 0}, "arrays": [own]}, [array]))


@pytest.mark.parametrize("text", [
    b"", b"{", b"[]", b"null", b'{"format": NaN}', b"{}", b"\xff", "ä".encode(), b"[" * 100_000,
    b'{"a":' * 100_000, b"9" * 100_000, b'{"format": "collegium model"}',
    b'{"format": "collegium model", "version": 1}',
    b'{"format": "collegium model", "version": 1, "requires": "\\u0000"}',
    b'{"format": "collegium model", "version": true, "requires": "0"}',
    b'{"format": "collegium model", "version": 1, "requires": "0", "arrays": {}}',
    b'{"format": "collegium model", "version": 1, "requires": "0", "arrays": []}',
    b'{"format": "collegium model", "version": 1, "requires": "0", "arrays": [], "model": '
    + b"[" * 900 + b"]" * 900 + b"}",
    b'{"format": "collegium model", "version": 1, "requires": "0", "arrays": [], "model": '
    + b'{"list":[' * 400 + b"]}" * 400 + b"}",
], ids=lambda text: str(text[:80]))  # fmt: skip
def test_manifests_that_are_none(refused, text):
    refused(built(text, []))


def test_a_manifest_that_claims_more_than_the_file(good, refused):
    for n in (len(good), 2**31, 2**32 - 1):
        head = struct.pack("<2I", n, n)
        refused(good[:18] + head + good[26:], match=MANIFEST)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_archives(good, refused, tmp_path):
    """Compressed, duplicated, climbing out of the folder; and no archive at all."""
    text = json.dumps(said_by(good)).encode()
    path = tmp_path / "other.zip"
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for names in ([MANIFEST], [MANIFEST, "../../x.npy"], [MANIFEST, MANIFEST], ["x", MANIFEST]):
            with zipfile.ZipFile(path, "w", how) as archive:
                for name in names:
                    archive.writestr(name, text)
            refused(path.read_bytes())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(MANIFEST, b" " * 50_000_000)
    refused(path.read_bytes())
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    refused((tmp_path / "arrays.npz").read_bytes())
    refused(b"\x80\x04K\x01.")


def test_overlapping_and_moved_entries(good, refused):
    """Bytes of one place put in another."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        a, b = sorted(rng.integers(0, len(good), 2).tolist())
        n = int(rng.integers(16, 400))
        if good[a : a + n] != good[b : b + n]:
            refused(good[:b] + good[a : a + n] + good[b + n :])


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(OSError):
        collegium.load(tmp_path)
    with pytest.raises(OSError):
        collegium.load(tmp_path / "none.clg")
    with pytest.raises(ModelFileError, match="not a file"):
        collegium.load("/dev/null")


def fuzzed(data, rng) -> bytes:
    """A file with some fault: in bytes, or in a manifest whose checksums are made right again."""
    kind = rng.integers(6)
    if kind == 0:
        return data[: rng.integers(len(data))]
    if kind == 1:
        return flipped(data, int(rng.integers(len(data))), int(rng.integers(8)))
    if kind == 2:
        at, n = int(rng.integers(len(data))), int(rng.integers(1, 200))
        return data[:at] + rng.bytes(n) + data[at + n :]
    if kind == 3:
        at, n = int(rng.integers(len(data))), int(rng.integers(1, 200))
        return data[:at] + data[at + n :]
    said = said_by(data)
    if kind == 4:
        _disturb(said, rng)
        return built(said, contents(data))
    text = bytearray(json.dumps(said).encode())
    for _ in range(rng.integers(1, 5)):
        text[rng.integers(len(text))] = rng.choice(list(b'0123456789-.e[]{}",:ntf '))
    return built(bytes(text), contents(data))


def _disturb(said, rng) -> None:
    """Put a strange value in some place of the manifest."""
    strange = [
        None, True, -1, 2**70, 1e308, "", "kernel.rbf/1", [], {}, [[[]]], {"array": 0}, "<f8", -0.0,
        {"record": "rows.rows/1", "fields": {}}, {"array": 0, "axes": [1, 0]}, [2**40, 2**40],
    ]  # fmt: skip
    places = []

    def walk(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            places.append((node, key))
            if isinstance(value, (dict, list)) and value:
                walk(value)

    walk(said)
    node, key = places[rng.integers(len(places))]
    node[key] = strange[rng.integers(len(strange))]


def fuzz(good, path, n, seed):
    """Check that bad files raise ModelFileError; return how many files open."""
    rng, opened = np.random.default_rng(seed), 0
    for _ in range(n):
        data = fuzzed(good, rng)
        path.write_bytes(data)
        tracemalloc.start()
        try:
            collegium.load(path, mmap=bool(rng.integers(2)))
            opened += 1
        except ModelFileError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= 1.5 * len(data) + BESIDE
    return opened


@pytest.mark.parametrize("seed", range(3))
def test_fuzzed_files(good, tmp_path, seed):
    assert fuzz(good, tmp_path / "f.clg", 100, seed) < 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_ten_thousand_fuzzed_files(good, tmp_path, seed):
    assert fuzz(good, tmp_path / "f.clg", 1000, seed) < 250


def test_large_entries_have_large_fields(tmp_path):
    """Where sizes and offsets pass 4 GB the archive is a zip64, and its reader agrees."""
    big, small = (Described("<f8", (n,), False, 7, "0" * 64) for n in (2**30, 3))
    layout = Layout.of(b"{}", [small, big, small])
    with open(tmp_path / "large.zip", "wb") as file:  # the data are holes
        for name, at, piece in layout.between():
            file.seek(at)
            file.write(piece if name != MANIFEST else piece + b"{}")
    assert (tmp_path / "large.zip").stat().st_size == layout.size > 2**33
    with zipfile.ZipFile(tmp_path / "large.zip") as archive:
        for entry, info in zip(layout.entries, archive.infolist(), strict=True):
            assert (entry.name, entry.at, entry.size) == (
                info.filename, info.header_offset, info.file_size)  # fmt: skip
            assert entry.start % 64 == 0 or entry.name == MANIFEST
        assert archive.read(MANIFEST) == b"{}"


def test_many_entries_have_large_fields(tmp_path):
    layout = Layout.of(b"{}", [Described("|u1", (), False, 0, "0" * 64)] * 70_000)
    data = bytearray(layout.size)
    for _, at, piece in layout.between():
        data[at : at + len(piece)] = piece
    (tmp_path / "many.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "many.zip") as archive:
        assert len(archive.namelist()) == 70_001


#: Modules on the path of a load, and what they must not use.
ON_THE_PATH = [
    ROOT / "interface" / "functions" / "loading.py", ROOT / "numerics" / "records.py",
    ROOT / "interface" / "estimator.py", *sorted((ROOT / "modelfile").glob("*.py")),
]  # fmt: skip
FORBIDDEN = {
    "pickle", "importlib", "import_module", "__import__", "marshal", "shelve", "dill", "joblib",
    "allow_pickle", "globals", "subprocess", "system", "runpy", "ctypes",
}  # fmt: skip
BUILT_IN = {"eval", "exec", "compile", "setattr", "open_code", "breakpoint"}


@pytest.mark.parametrize("path", ON_THE_PATH, ids=lambda path: path.name)
def test_nothing_on_the_path_of_a_load_runs_what_a_file_says(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    imported = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    used = names | {node.attr for node in attributes}
    used |= {part for node in imported for alias in node.names for part in alias.name.split(".")}
    used |= {part for node in imported for part in (getattr(node, "module", "") or "").split(".")}
    assert not used & FORBIDDEN and not names & BUILT_IN
    assert not [n for n in attributes if n.attr == "load" and ast.unparse(n.value) == "np"]


def test_getattr_of_stored_names_is_for_writing_only():
    """`Reader` and what it calls look up no attribute by a name from a file."""
    tree = ast.parse((ROOT / "modelfile" / "tree.py").read_text())
    reader = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Reader")
    calls = [n for n in ast.walk(reader) if isinstance(n, ast.Call)]
    named = [n for n in calls if getattr(n.func, "id", "") in ("getattr", "hasattr")]
    assert all(isinstance(n.args[1], ast.Constant) for n in named)


def test_the_version_of_the_format_is_written(good):
    assert said_by(good)["version"] == files.VERSION


def test_keys_with_equal_hashes_are_refused(good, refused):
    """Multiples of 2⁶¹ − 1 have the hash 0: a dict of them takes time by their square."""
    said = {**said_by(good), "arrays": []}
    for key in (2**61 - 1, [2**61 - 1, 0], {"list": [1]}, [[1]]):
        node = {"dict": [[key, 1]]}
        refused(built({**said, "model": node}, []), match="model: keys that no model has")
    many = {"dict": [[[i, i], 1] for i in range(201)]}
    refused(built({**said, "model": many}, []), match="keys that no model has")


def test_places_are_put_into_words_only_in_errors(good, tmp_path, monkeypatch, refused):
    """Else a long name above many nodes takes time by their product."""
    path = tmp_path / "good.clg"
    path.write_bytes(good)
    with monkeypatch.context() as patch:
        patch.setattr(tree.Spot, "__str__", lambda place: pytest.fail("words"))
        collegium.load(path)
    said = {**said_by(good), "arrays": []}
    params = {"a" * 10**6: {"x": 1}}
    node = {"estimator": said["class"], "params": params, "state": {}}
    refused(built({**said, "model": node}, []), match=r"model\.a{100}: not a")


def test_pipes_and_folders_are_no_model_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.clg")
    with pytest.raises(ModelFileError, match="pipe.clg is not a file"):
        within(5, collegium.load, tmp_path / "pipe.clg")
    with pytest.raises(IsADirectoryError):
        collegium.load(tmp_path)


#: Loads a model, cuts its file short in place, and predicts.
CUT = """
import os, sys
import numpy as np
import collegium
model = collegium.load(sys.argv[1])
expected = model.predict(np.ones((3, 2)))
os.truncate(sys.argv[1], 100)
again = collegium.load(sys.argv[2])
os.truncate(sys.argv[2], 100)
assert np.array_equal(again.predict(np.ones((3, 2))), expected)
"""


def test_a_file_that_is_cut_short_in_place_does_not_end_the_process(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    model = committee("local", chunks=500, anchors=50, learn=False, noise=0.1,
                      kernel=collegium.kernels.RBF())  # fmt: skip
    for name in ("a.clg", "b.clg"):
        model.fit(X, X[:, 0]).save(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", CUT, tmp_path / "a.clg", tmp_path / "b.clg"], capture_output=True,
        text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_forged_shapes_of_local_experts_are_refused(tmp_path, refused):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = collegium.RVCRegressor(random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "good.clg")
    good = (tmp_path / "good.clg").read_bytes()
    said, tried = said_by(good), 0
    for shape in ([0, 10**9], [10**9, 0], [0, 10**6], [0, 3], [2**40, 0]):
        own = json.loads(json.dumps(said))
        fields = next(found_records(own["model"], "rvc.experts/1"))["fields"]
        at = next(one["array"] for one in fields.values() if isinstance(one, dict) and "at" in one)
        for name in ("centres", "mu", "factor", "seen"):
            forged = json.loads(json.dumps(own))
            node = next(found_records(forged["model"], "rvc.experts/1"))["fields"]
            node[name] = {"array": at, "at": 0, "shape": shape}
            refused(built(forged, contents(good)))
            tried += 1
    assert tried == 20


def found_records(node, tag):
    """Yield the records of a kind."""
    if isinstance(node, dict):
        if node.get("record") == tag:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            yield from found_records(one, tag)
