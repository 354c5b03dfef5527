"""The benchmarks' folders: every script imports, the driver stays small, peers have their files."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import benchmarks
from benchmarks import tasks
from benchmarks.harness import render

ROOT = Path(benchmarks.__file__).parent
#: Packages of `make bench` alone, which the tests do without.
OPTIONAL = {
    "catboost", "gpboost", "gpytorch", "lightgbm", "MuyGPyS", "ngboost", "quantile_forest", "torch",
}  # fmt: skip


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        yield name.removesuffix(".__init__")


@pytest.mark.parametrize("name", list(modules()))
def test_every_module_imports(name):
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        assert error.name in OPTIONAL


def test_the_driver_and_the_plans_need_the_standard_library_alone():
    code = (
        "import sys; from benchmarks import tasks; from benchmarks.harness import driver;"
        "[tasks.plan(name) for name in tasks.NAMES];"
        "sys.exit('numpy' in sys.modules or 'collegium' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT.parent).returncode == 0


@pytest.mark.parametrize("task", tasks.NAMES)
def test_every_method_has_its_file_and_every_result_its_set(task):
    plan = tasks.plan(task)
    for method in plan.methods.values():
        assert render.peer_file(method.module).exists()
        assert render.about(method.module)
    stored = {path.stem for path in (ROOT / "results" / task).glob("*.json")}
    assert stored and stored <= set(plan.sets)


def test_names_of_sets_belong_to_one_task():
    names = [name for task in tasks.NAMES for name in tasks.plan(task).sets]
    assert len(names) == len(set(names))
