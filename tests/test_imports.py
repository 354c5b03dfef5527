"""A room imports only from rooms before it; nothing heavy is needed to import."""

import subprocess
import sys
from pathlib import Path

import pytest

import collegium
from benchmarks.studies.house import source

ROOT = Path(collegium.__file__).parent
FILES = source.read(ROOT)
#: In the order of imports.
ROOMS = (
    "numerics", "engines", "kernels", "rows", "tables", "sources", "messages",
    "likelihoods",
    "answers", "errors", "learning", "averaging", "transforms", "members", "conformal",
    "explain", "maps", "modelfile", "interface",
    "combining", "laplace", "pipeline", "committee", "sparse", "online", "filter", "rvc", "ledger",
    "optimise", "diagnostics", "plots", "pages", "service", "cli",
)  # fmt: skip
#: Modules beside the rooms, which the last of them use.
BESIDE = {"cli": ("datasets", "metrics")}
#: Libraries of single rooms.
OWN_LIBRARIES = {
    "plots": {"matplotlib"}, "cli": {"click"}, "service": {"starlette", "uvicorn"},
}  # fmt: skip
LIBRARIES = {"numpy", "scipy", "sklearn", "numba", "threadpoolctl"}


def test_every_folder_is_a_room():
    assert {path.parent.name for path in ROOT.glob("*/*.py")} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_from_rooms_before_them(room):
    allowed = (*ROOMS[: ROOMS.index(room) + 1], *BESIDE.get(room, ()))
    for file in FILES:
        for name in source.imports(file) if file.room == room else ():
            if name[0] == "collegium":
                assert name[1] in allowed, f"{file.place} imports {'.'.join(name)}"


def test_only_chosen_libraries_are_imported():
    for file in FILES:
        more = OWN_LIBRARIES.get(file.room, set())
        known = LIBRARIES | more | {"collegium"} | sys.stdlib_module_names
        for name in source.imports(file):
            assert name[0] in known, f"{file.place} imports {name[0]}"


def test_sources_import_little():
    for file in FILES:
        for name in source.imports(file) if file.room == "sources" else ():
            assert name[0] != "collegium" or name[1] in ("numerics", "rows", "tables", "sources")


def test_pyarrow_is_asked_for_in_one_place():
    users = {file.room for file in FILES if "pyarrow(" in file.source}
    assert users == {"sources"}
    asked = [file.place for file in FILES if '"pyarrow"' in file.source]
    # The first says whether it is installed; the last reads tables that are pyarrow's already.
    doctor = Path("cli", "jobs", "checking.py")
    assert asked == [doctor, Path("sources", "arrow.py"), Path("tables", "arrow.py")]


def test_lapack_is_called_in_one_place():
    users = [file.place for file in FILES if "lapack" in file.source]
    assert users == [Path("numerics", "lapack.py"), Path("numerics", "linalg.py")]


#: One after the other.
STATEMENTS = {
    "package": "import sys, collegium",
    "sources": "collegium.open",
    "filter": "collegium.filter.UniformBox",
    "plots": "collegium.plots.plot_prior",
    "estimator": "from collegium import CommitteeRegressor",
}


@pytest.fixture(scope="module")
def modules_after() -> dict[str, set[str]]:
    """What a new process has imported after each of the statements."""
    code = "\n".join(f"{statement}\nprint(*sys.modules)" for statement in STATEMENTS.values())
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name: set(line.split()) for name, line in zip(STATEMENTS, out.stdout.splitlines())}


def test_importing_brings_in_nothing_slow(modules_after):
    """Names are imported when they are asked for, and the libraries that they need with them."""
    modules = modules_after["package"]
    assert "collegium.numerics.version" in modules
    assert not modules & {"numpy", "scipy", "numba", "sklearn", "pandas", "matplotlib"}


def test_estimators_bring_in_no_other_estimator(modules_after):
    modules = modules_after["estimator"]
    assert "sklearn.base" in modules
    assert not modules & {
        "matplotlib", "polars", "torch", "dask", "sklearn.gaussian_process", "sklearn.cluster",
        "sklearn.linear_model", "sklearn.metrics", "sklearn.model_selection", "sklearn.pipeline",
    }  # fmt: skip


def test_matplotlib_is_imported_when_something_is_drawn_and_not_before(modules_after):
    modules = modules_after["plots"]
    assert "collegium.plots" in modules and "matplotlib" not in modules


def test_pyarrow_is_imported_when_a_file_needs_it_and_not_before(modules_after):
    modules = modules_after["sources"]
    assert "collegium.sources.opening" in modules
    assert not modules & {"pyarrow", "pandas", "polars", "sklearn"}


def test_bases_and_densities_of_a_filter_need_no_estimator(modules_after):
    modules = modules_after["filter"]
    assert "collegium.filter.bases" not in modules_after["sources"]
    assert "collegium.filter.densities" in modules
    assert not modules & {"sklearn", "collegium.filter.regressor"}


@pytest.mark.parametrize("name", ["open", "filter"])
def test_importing_all_names_leaves_those_of_python_alone(name):
    assert name not in collegium.__all__ and name in dir(collegium)


def test_every_public_name_is_there():
    assert set(collegium.__all__) <= set(dir(collegium))
    assert {"metrics", "kernels", "datasets", "plots"} <= set(dir(collegium))
    assert not {"ast", "gc", "partial", "pipeline", "HOMES"} & set(dir(collegium))
    for name in collegium.__all__:
        assert getattr(collegium, name).__name__.split(".")[-1] == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        collegium.nothing  # noqa: B018
