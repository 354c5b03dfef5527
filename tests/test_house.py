"""The shape of the code: small files and folders, short functions, shallow classes, one name for
one thing. `make house` prints the numbers."""

import ast
import inspect
from collections import Counter
from pathlib import Path

import numba
import pytest

import collegium
from benchmarks.studies.house import running, source
from collegium.kernels import Kernel
from collegium.likelihoods import Observation
from test_imports import ROOMS

#: No more than so many …
CODE_LINES = 400  # in a file: no docstrings, comments or blank lines
BODY_LINES = 60  # in a function below its docstring
FILES = 16  # in a folder
DEPTH = 2  # classes above a class
PLUGIN_DEPTH = 3  # classes above a kernel or a likelihood
ESTIMATOR_CLASSES = 3  # of ours that an estimator is made of, itself included
ESTIMATOR_ARGUMENTS = 18
RECORD_FIELDS = 12
LOOP_ARGUMENTS = 10  # of a compiled function
FUNCTION_NAMES = 10  # that stand for several functions

SOURCE = source.read(Path(collegium.__file__).parent)
MODULES = running.import_all()


def beyond(counts, limit):
    """Keep what is above a limit, the largest first."""
    order = sorted(counts, key=counts.__getitem__, reverse=True)
    return {name: counts[name] for name in order if counts[name] > limit}


def none(found):
    """Fail with one line per thing found."""
    lines = found.items() if isinstance(found, dict) else found
    assert not found, "\n".join(map(str, lines))


def all_classes():
    found = {
        one
        for module in MODULES
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__.startswith("collegium.")
    }
    return sorted(found, key=lambda one: (one.__module__, one.__qualname__))


def depth(one) -> int:
    """Count classes of ours in the longest chain above this one."""
    above = [base for base in one.__bases__ if base.__module__.startswith("collegium.")]
    return max((1 + depth(base) for base in above), default=0)


def test_classes_are_shallow():
    plugins = {one: depth(one) for one in all_classes() if issubclass(one, (Kernel, Observation))}
    none(beyond(plugins, PLUGIN_DEPTH))
    others = {one: depth(one) for one in all_classes() if one not in plugins}
    assert len(others) > 100
    none(beyond(others, DEPTH))


def test_files_are_short():
    none(beyond({file.place: source.code_lines(file) for file in SOURCE}, CODE_LINES))


def test_functions_are_short():
    bodies = {
        f"{file.place} {name}": lines
        for file in SOURCE
        for name, lines in source.body_lines(file).items()
    }
    assert len(bodies) > 1000
    none(beyond(bodies, BODY_LINES))


def test_folders_hold_few_files():
    none(beyond(Counter(str(file.place.parent) for file in SOURCE), FILES))


def test_compiled_loops_take_few_arguments():
    loops = {
        f"{module.__name__}.{name}": len(inspect.signature(one.py_func).parameters)
        for module in MODULES
        for name, one in vars(module).items()
        if isinstance(one, numba.core.registry.CPUDispatcher)
    }
    assert len(loops) > 20
    none(beyond(loops, LOOP_ARGUMENTS))


def test_compiled_functions_have_cache_files_of_their_own():
    """Numba takes no lock on a file that several functions share: one may be read for another."""
    spaces = [vars(one) for one in (*MODULES, *all_classes())]
    values = [getattr(one, "__func__", one) for space in spaces for one in space.values()]
    loops = {one for one in values if isinstance(one, numba.core.registry.CPUDispatcher)}
    files = Counter(
        (one.__code__.co_filename, one.__code__.co_firstlineno, one.__qualname__)
        for one in (loop.py_func for loop in loops)
    )
    assert len(files) > 40
    none(beyond(files, 1))


@pytest.mark.parametrize("one", running.estimators(), ids=lambda one: one.__name__)
def test_estimators_take_few_arguments_and_are_made_of_few_classes(one):
    assert len(inspect.signature(one).parameters) <= ESTIMATOR_ARGUMENTS
    assert len(running.own_classes(one)) <= ESTIMATOR_CLASSES, running.own_classes(one)


def test_records_have_few_fields():
    none(beyond(running.records(MODULES), RECORD_FIELDS))


def test_no_modules_import_each_other_not_even_lazily():
    none(source.cycles(SOURCE))


def test_a_class_name_stands_for_one_class():
    none(source.duplicates(SOURCE, ast.ClassDef))


def test_few_function_names_stand_for_several_functions():
    found = source.duplicates(SOURCE, ast.FunctionDef)
    if len(found) > FUNCTION_NAMES:
        none(found)


def test_docstrings_begin_with_a_verb_or_a_formula():
    none(source.odd_docstrings(SOURCE))


@pytest.mark.parametrize("room", ROOMS[: ROOMS.index("interface")])
def test_rooms_before_the_interface_do_not_know_it(room):
    for file in SOURCE:
        if file.room == room:
            known = {name[:2] for name in source.imports(file)}
            assert ("collegium", "interface") not in known, file.place
