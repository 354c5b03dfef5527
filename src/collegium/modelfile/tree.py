"""Write and read trees of records as JSON; arrays are stored beside it, in entries of their own.

null, true, "word", 3, 0.5     themselves               {"float": "inf"}    not finite
[a, b]                         a tuple                  {"list": [a, b]}    a list
{"dict": [[key, value], …]}    a dict, in its order     {"scalar": ["<f8", 0.5]}  of NumPy
{"array": 7}                   entry 7; {"array": 7, "at": 64, "shape": [3, 2]}: six numbers
                               of it from number 64 on. With "axes" where their order in memory
                               is another, and "fixed" where it is read-only
{"objects": […], "shape": […]} an array of strings
{"record": tag, "fields": {}}  a dataclass              {"estimator": tag, "params": {},
                                                         "state": {}}
{"random": {}, "legacy": true} a random state           {"sklearn": "RBF", "params": {}}
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from ..numerics import records
from . import foreign
from .arrays import (
    MOST_DIMENSIONS,
    MOST_OF_EMPTY,
    Described,
    SmallArrays,
    describe,
    is_fortran,
    laid_out,
    storable,
    whole_numbers,
)
from .errors import ModelFileError

Array = np.ndarray
PLAIN = (str, int, bool, type(None))
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
#: No model has whole numbers beyond this; states of random numbers have 128 bits.
LARGEST = 2**256
#: Keys of dicts: whole numbers below this, and at most so many tuples. The hashes of others can be
#: made equal, and a dict of such keys takes time by the square of its length.
LARGEST_KEY, MOST_TUPLES = 2**53, 200
#: Arrays of fewer bytes share an entry: their own would cost half a kilobyte.
SMALL = 4096
#: Arguments that the user gives again after loading.
NOT_STORED = ("engine",)


class Writer:
    """Turns a tree into JSON and collects its arrays, equal ones once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.described: list[Described] = []
        self._pools: dict[str, SmallArrays] = {}  # of each dtype
        self._seen: dict[Any, int] = {}
        self._inputs: dict[tuple, int] = {}  # rows of each array of inputs, by its position

    @property
    def n_rows(self) -> int:
        """Number of rows inside."""
        return sum(self._inputs.values())

    def node(self, value: Any, where: str) -> Any:
        """Write a value as JSON; `where` names it in errors."""
        kind = type(value)
        if kind in PLAIN:
            return self._checked_int(value, where) if kind is int else value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is tuple:
            return [self.node(one, f"{where}[{i}]") for i, one in enumerate(value)]
        if kind is list:
            return {"list": [self.node(one, f"{where}[{i}]") for i, one in enumerate(value)]}
        if kind is dict:
            if not _are_keys(list(value)):
                raise ValueError(f"{where} is a dict with keys that cannot be stored: use strings")
            pairs = [
                [self.node(k, where), self.node(v, f"{where}[{k!r}]")] for k, v in value.items()
            ]
            return {"dict": pairs}
        if kind in (np.ndarray, np.memmap):
            return self._array(np.asarray(value), where)
        if isinstance(value, np.generic) and _is_scalar(value):
            return {"scalar": [value.dtype.str, self.node(value.item(), where)]}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        kind = type(value)
        if hasattr(kind, "_file_parts"):
            return self._estimator(value, where)
        tag = records.tag_of(kind) if is_dataclass(kind) else None
        if tag is not None:
            found = self._fields(value, where)
            rows = records.field_of_rows(kind)
            if rows is not None:
                place = found[rows]["array"], found[rows].get("at")
                self._inputs[place] = getattr(value, rows).shape[0]
            return {"record": tag, "fields": found}
        found = foreign.node(value, lambda one, name: self.node(one, f"{where}.{name}"))
        if found is None:
            raise ValueError(_refusal(value, where))
        return found

    def _fields(self, value: Any, where: str) -> dict[str, Any]:
        named = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init]
        return {name: self.node(one, f"{where}.{name}" if where else name) for name, one in named}

    def _estimator(self, value: Any, where: str) -> Any:
        params, state = value._file_parts()
        within = f"{where}." if where else ""
        for name in NOT_STORED:
            if params.get(name) is not None:
                warnings.warn(
                    f"{within}{name} is not stored: give it again after loading", stacklevel=6
                )
                params[name] = None
        return {
            "estimator": records.tag_of(type(value)) or records.own_tag(type(value)),
            "params": {k: self.node(v, f"{within}{k}") for k, v in params.items()},
            "state": {k: self.node(v, f"{within}{k}") for k, v in state.items()},
        }

    def _array(self, array: Array, where: str) -> Any:
        if array.dtype == object:
            words = [self.node(one, where) for one in array.reshape(-1).tolist()]
            if not all(type(one) in (*PLAIN, float) for one in words):
                raise ValueError(f"{where} is an array of objects: only strings can be stored")
            return {"objects": words, "shape": list(array.shape)}
        if not storable(array):
            raise ValueError(f"{where} is an array of {array.dtype}, which cannot be stored")
        flat, axes = laid_out(array)
        if flat.nbytes < SMALL:
            if is_fortran(flat):
                flat, axes = flat.T, axes[::-1]
            found = self._piece(flat)
        else:
            found = {"array": self._entry(flat)}
        if axes != tuple(range(array.ndim)):
            found["axes"] = list(axes)
        if not array.flags.writeable:
            found["fixed"] = True
        return found

    def _entry(self, array: Array) -> int:
        own = describe(array)
        if own not in self._seen:
            self._seen[own] = len(self.arrays)
            self.arrays.append(array)
            self.described.append(own)
        return self._seen[own]

    def _piece(self, array: Array) -> dict[str, Any]:
        """Store a small array in the entry that all of its dtype share."""
        dtype = array.dtype.str
        if dtype not in self._pools:
            self._pools[dtype] = SmallArrays(len(self.arrays), array.dtype)
            self.arrays.append(array)  # replaced by all of them in `finish`
            self.described.append(describe(array))
        pool, key = self._pools[dtype], (dtype, array.tobytes())
        if key not in self._seen:
            self._seen[key] = pool.add(array)
        return {"array": pool.entry, "at": self._seen[key], "shape": list(array.shape)}

    def finish(self) -> None:
        """Join the small arrays of each dtype."""
        for pool in self._pools.values():
            self.arrays[pool.entry] = pool.joined()
            self.described[pool.entry] = describe(self.arrays[pool.entry])

    def _checked_int(self, value: int, where: str) -> int:
        if abs(value) >= LARGEST:
            raise ValueError(f"{where} is a whole number too large to be stored")
        return value


def _is_scalar(value: np.generic) -> bool:
    return value.dtype.kind in "biufU" and storable(np.asarray(value))


def _refusal(value: Any, where: str) -> str:
    return (
        f"{where} is {_in_words(value)}, which has no place in a model file. Kernels, likelihoods "
        "and functions of your own can be stored where they are dataclasses (load(path, "
        "types=[…]) reads them); for other objects use pickle, or skops where files come from "
        "others"
    )


def _in_words(value: Any) -> str:
    name = type(value).__name__
    return f"the function {value.__name__}" if name == "function" else f"a {name}"


class Spot:
    """Place of a node in its tree, put into words where there is an error."""

    __slots__ = ("above", "part")

    def __init__(self, above: Spot | None, part: str | int) -> None:
        self.above, self.part = above, part

    def __str__(self) -> str:
        parts, at = list[str](), self
        while at.above is not None:
            parts.append(f"[{at.part}]" if type(at.part) is int else f".{str(at.part)[:100]}")
            at = at.above
        parts.append(str(at.part))
        return "".join(reversed(parts))


class Reader:
    """Makes the tree of a node, and refuses everything that `Writer` does not write."""

    def __init__(
        self, arrays: Sequence[Array], find: Callable[[str], Any], unknown: Callable[[str], str]
    ) -> None:
        """Take `find(tag)`, the maker of a record or None, and `unknown(tag)`, the error then."""
        self.arrays, self.find, self.unknown = arrays, find, unknown

    def value(self, node: Any, where: Spot) -> Any:
        kind = type(node)
        if kind in PLAIN or kind is float:
            if kind is int and abs(node) >= LARGEST:
                raise ModelFileError(f"{where}: a whole number too large")
            return node
        if kind is list:
            return tuple(self.value(one, Spot(where, i)) for i, one in enumerate(node))
        for name, read in self._kinds.items():
            if name in node:
                return read(self, node, where)
        raise ModelFileError(f"{where}: not a node of a model file")

    def _parts(self, node: dict, where: Spot, *wanted: str, optional: tuple[str, ...] = ()) -> list:
        """Return the values of a node that has these names and no others."""
        if not set(wanted) <= set(node) <= {*wanted, *optional}:
            raise ModelFileError(f"{where}: not a node of a model file")
        return [node[name] for name in wanted]

    def _float(self, node: dict, where: Spot) -> float:
        (name,) = self._parts(node, where, "float")
        if type(name) is not str or name not in NOT_FINITE:
            raise ModelFileError(f"{where}: not inf, -inf or nan")
        return NOT_FINITE[name]

    def _list(self, node: dict, where: Spot) -> list:
        (items,) = self._parts(node, where, "list")
        return list(self._all(items, where))

    def _all(self, items: Any, where: Spot) -> tuple:
        if type(items) is not list:
            raise ModelFileError(f"{where}: not a list")
        return self.value(items, where)

    def _dict(self, node: dict, where: Spot) -> dict:
        (pairs,) = self._parts(node, where, "dict")
        found, items = {}, self._all(pairs, where)
        if not all(type(pair) is tuple and len(pair) == 2 for pair in items):
            raise ModelFileError(f"{where}: not pairs of key and value")
        if not _are_keys([pair[0] for pair in items]):
            raise ModelFileError(f"{where}: keys that no model has")
        for pair in items:
            found[pair[0]] = pair[1]
        return found

    def _scalar(self, node: dict, where: Spot) -> Any:
        (pair,) = self._parts(node, where, "scalar")
        dtype, value = self._all(pair, where)
        one = Described.of(
            {"dtype": dtype, "shape": [], "order": "C", "crc32": 0, "sha256": "0" * 64},
            str(where),
            4096,
        )
        return np.dtype(one.dtype).type(value)

    def _array(self, node: dict, where: Spot) -> Array:
        (i,) = self._parts(node, where, "array", optional=("at", "shape", "axes", "fixed"))
        if type(i) is not int or not 0 <= i < len(self.arrays):
            raise ModelFileError(f"{where}: there is no such array")
        array = self.arrays[i]
        if "at" in node or "shape" in node:
            array = _piece(array, node.get("at"), node.get("shape"), where)
        if "axes" in node:
            axes = node["axes"]
            if not whole_numbers(axes) or sorted(axes) != list(range(array.ndim)):
                raise ModelFileError(f"{where}: its axes are not those of the array")
            array = array.transpose(axes)
        if node.get("fixed", True) is not True:
            raise ModelFileError(f"{where}: fixed is true or not there")
        if "fixed" in node:
            array = array.view()
            array.flags.writeable = False
        return array

    def _objects(self, node: dict, where: Spot) -> Array:
        words, shape = self._parts(node, where, "objects", "shape")
        values = self._all(words, where)
        plain = all(type(one) in (*PLAIN, float) for one in values)
        if not plain or not whole_numbers(shape) or math.prod(shape) != len(values):
            raise ModelFileError(f"{where}: not an array of strings")
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found.reshape(shape)

    def _record(self, node: dict, where: Spot) -> Any:
        tag, given = self._parts(node, where, "record", "fields")
        maker = self._maker(tag, where)
        if isinstance(maker, type):
            if not is_dataclass(maker) or hasattr(maker, "_of_file"):
                raise ModelFileError(f"{where}: {tag} is not a record")
            own = [f for f in fields(maker) if f.init]
            needed = {f.name for f in own if f.default is f.default_factory is MISSING}
            if not needed <= set(given) <= {f.name for f in own}:
                differ = sorted(set(given) ^ {f.name for f in own})
                raise ModelFileError(f"{where}: fields {differ} of {self.unknown(tag)}")
        return maker(**self._named(given, where))

    def _estimator(self, node: dict, where: Spot) -> Any:
        tag, params, state = self._parts(node, where, "estimator", "params", "state")
        maker = self._maker(tag, where)
        if not hasattr(maker, "_of_file"):
            raise ModelFileError(f"{where}: {tag} is not an estimator")
        return maker._of_file(self._named(params, where), self._named(state, where))

    def _maker(self, tag: Any, where: Spot) -> Any:
        maker = self.find(tag) if type(tag) is str else None
        if maker is None:
            raise ModelFileError(f"{where}: {self.unknown(tag)}")
        return maker

    def _named(self, given: Any, where: Spot) -> dict[str, Any]:
        if type(given) is not dict:
            raise ModelFileError(f"{where}: not named values")
        return {name: self.value(one, Spot(where, name)) for name, one in given.items()}

    def _random(self, node: dict, where: Spot) -> Any:
        state, legacy = self._parts(node, where, "random", "legacy")
        return foreign.random_state(self.value(state, where), legacy is True)

    def _sklearn(self, node: dict, where: Spot) -> Any:
        name, params = self._parts(node, where, "sklearn", "params")
        return foreign.kernel(name, self._named(params, where))

    _kinds: dict[str, Callable[[Reader, dict, Spot], Any]] = {
        "array": _array, "record": _record, "float": _float, "list": _list, "dict": _dict,
        "scalar": _scalar, "objects": _objects, "estimator": _estimator, "random": _random,
        "sklearn": _sklearn,
    }  # fmt: skip


def _are_keys(values: Sequence[Any]) -> bool:
    """Whether a dict may have these keys: those whose hashes can be made equal are few or none."""
    tuples = [one for one in values if type(one) is tuple]
    parts = [part for one in tuples for part in one]
    return len(tuples) <= MOST_TUPLES and all(
        type(one) in (str, bool, float, type(None)) or (type(one) is int and abs(one) < LARGEST_KEY)
        for one in (*(one for one in values if type(one) is not tuple), *parts)
    )


def _piece(array: Array, at: Any, shape: Any, where: Spot) -> Array:
    """Return some numbers of a long array, in another shape."""
    if not (whole_numbers([at]) and whole_numbers(shape, MOST_OF_EMPTY) and array.ndim == 1):
        raise ModelFileError(f"{where}: not a piece of an array")
    n = math.prod(shape)
    if len(shape) > MOST_DIMENSIONS or at + n > array.size:
        raise ModelFileError(f"{where}: not a piece of an array")
    return array[at : at + n].reshape(shape)
