"""Write one record as bytes and read it again, laid out as a model file is."""

from __future__ import annotations

import json
from typing import Any

from ..numerics import records
from ..numerics.version import __version__
from .archive import MANIFEST, Layout
from .errors import ModelFileError
from .reading import read_arrays, read_manifest
from .tree import Reader, Spot, Writer
from .writing import joined

FORMAT, VERSION = "collegium record", 1


def record_bytes(value: Any) -> bytes:
    """Write a tree of records, arrays, numbers and strings."""
    writer = Writer()
    node = writer.node(value, "")
    writer.finish()
    arrays = [one.node() for one in writer.described]
    said = {"format": FORMAT, "version": VERSION, "record": node, "arrays": arrays}
    text = json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii")
    return joined(text, Layout.of(text, writer.described), writer.arrays)


def record_of_bytes(data: bytes) -> Any:
    """Read what `record_bytes` wrote, or raise a ModelFileError."""
    own = bytearray(data)
    text, said = read_manifest(own)
    if (said.get("format"), said.get("version")) != (FORMAT, VERSION):
        raise ModelFileError(f"{MANIFEST}: not a record that collegium {__version__} reads")
    arrays = read_arrays(own, text, said.get("arrays"), verify=True)
    reader = Reader(arrays, records.maker_of, lambda tag: f"{tag} is not known")
    try:
        return reader.value(said.get("record"), Spot(None, "record"))
    except ModelFileError:
        raise
    except Exception as error:  # a class may refuse its fields in any way
        raise ModelFileError(f"{MANIFEST}: not a record ({error})") from error
