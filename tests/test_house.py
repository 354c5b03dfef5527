"""The shape of the code: shallow classes, short functions, few arguments."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import numba
import pytest

import collegium
from collegium.kernels import Kernel
from collegium.likelihoods import Observation

ROOT = Path(collegium.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(collegium.__path__, "collegium.")
]
#: Modules that may import `interface`: those that meet users, and fitted records.
MEETS_USERS = ("regressor", "classifier", "fitting", "stream", "arguments", "model", "answers")


def own_classes():
    found = {
        one
        for module in MODULES
        for _, one in inspect.getmembers(module, inspect.isclass)
        if one.__module__.startswith("collegium.")
    }
    return sorted(found, key=lambda one: (one.__module__, one.__qualname__))


def depth(one) -> int:
    """Classes of ours in the longest chain above this one."""
    above = [base for base in one.__bases__ if base.__module__.startswith("collegium.")]
    return max((1 + depth(base) for base in above), default=0)


@pytest.mark.parametrize("one", own_classes(), ids=lambda one: one.__qualname__)
def test_classes_are_shallow(one):
    """At most two classes above each; of kernels and likelihoods three."""
    assert depth(one) <= (3 if issubclass(one, (Kernel, Observation)) else 2)


def functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_and_files_are_short(path):
    assert path.read_text().count("\n") <= 400
    for node in functions(path):
        body = node.body[1:] if ast.get_docstring(node) else node.body
        if body:
            lines = body[-1].end_lineno - body[0].lineno + 1
            assert lines <= 60, f"{node.name} has {lines} lines"


def test_compiled_loops_take_few_arguments():
    seen = 0
    for module in MODULES:
        for name, one in vars(module).items():
            if isinstance(one, numba.core.registry.CPUDispatcher):
                seen += 1
                count = len(inspect.signature(one.py_func).parameters)
                assert count <= 10, f"{module.__name__}.{name} takes {count}"
    assert seen > 20


def test_committee_regressor_has_few_arguments():
    assert len(collegium.CommitteeRegressor().get_params()) <= 24


def test_only_what_meets_users_knows_the_interface():
    for path in FILES:
        room = path.relative_to(ROOT).parts[0]
        if room in ("interface", "plots", path.name) or path.stem.endswith(MEETS_USERS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                where = f"{node.module or ''}".split(".")[0]
                assert where != "interface", f"{path.relative_to(ROOT)} imports the interface"
