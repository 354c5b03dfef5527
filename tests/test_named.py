"""What pages mention exists: public names, methods, arguments, make targets, files, options."""

import ast
import builtins
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import collegium

ROOT = Path(__file__).parents[1]
SOURCE = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PAGES = [ROOT / "README.md"]
PAGES += [path for path in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in path.parts]
LESSONS = sorted((ROOT / "examples" / "gallery").rglob("*.py"))
FENCED = re.compile(r"^```.*?^```$|^<!--.*?-->$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
ROOMS = [name for name, home in collegium.HOMES.items() if not home]
#: Names in calls that are not ours: of Python, NumPy, the user, and of other libraries.
FOREIGN = {"np", "function", "pipe", "Mine", "os", "pd", "flock", "write_table", "ray", "frame"}
FOREIGN |= {"plt", "YfromX", "CommitteeProba"}
FOREIGN_ARGUMENTS = {"threads_per_worker", "scoring", "synchronous"}
#: Pages whose tables have other libraries in their first column.
OF_OTHERS = {"coming_from.md"}


@cache
def public():
    """All public names with their objects, of the package and of its rooms."""
    found = {name: getattr(collegium, name) for name in collegium.HOMES}
    for room in ROOMS:
        module = importlib.import_module(f"collegium.{room}")
        for name in module.__all__:
            found.setdefault(name, getattr(module, name))
    for engine in ("dask", "ray", "spark"):
        module = importlib.import_module(f"collegium.engines.{engine}")
        found |= {name: one for name, one in vars(module).items() if name.endswith("Engine")}
    return found


@cache
def methods():
    """Names of methods and attributes of public classes, with all arguments that they take."""
    found = {}
    for one in public().values():
        if inspect.isclass(one):
            for name, member in inspect.getmembers(one, callable):
                found.setdefault(name, set()).update(arguments(member))
            found.setdefault("set_params", set()).update(arguments(one))
    return found


def arguments(called):
    """Names of arguments; every kernel also takes columns and categories."""
    try:
        found = set(inspect.signature(called).parameters)
    except (TypeError, ValueError):
        return set()
    kernel = inspect.isclass(called) and issubclass(called, collegium.kernels.Kernel)
    return found | ({"columns", "categories"} if kernel else set())


@cache
def all_arguments():
    known = [arguments(one) for one in public().values() if callable(one)]
    fields = {name for one in public().values() for name in getattr(one, "__annotations__", {})}
    return fields.union(*known, *methods().values())


def spans(page):
    """Code within the lines of a page, without its blocks."""
    return SPAN.findall(FENCED.sub("", page.read_text("utf-8")))


def calls(span):
    """Calls in a span that is Python: what is called, and its arguments by name."""
    try:
        tree = ast.parse(span.replace("…", "..."))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func, [word.arg for word in node.keywords if word.arg]


def unknown(span):
    """Names and arguments in a span of code that nothing has."""
    for dotted in re.findall(r"\bcollegium(?:\.[A-Za-z_]\w*)+", span):
        if not resolves(dotted):
            yield dotted
    for called, words in calls(span):
        if isinstance(called, ast.Name):
            name, known = called.id, public().get(called.id)
            if known is not None and callable(known):
                yield from (f"{name}({word}=)" for word in words if word not in arguments(known))
            elif name in methods():
                yield from (f"{name}({word}=)" for word in words if word not in methods()[name])
            elif not hasattr(builtins, name) and name not in FOREIGN:
                yield f"{name}()"
        elif isinstance(called, ast.Attribute):
            name = called.attr
            if name not in methods() and name not in public() and not known_elsewhere(called):
                yield f".{name}()"
    for word in re.findall(r"^([a-z_]\w*)=", span):
        if word not in all_arguments() | FOREIGN_ARGUMENTS:
            yield f"{word}="
    for name in re.findall(r"(?:^|\.)([a-z]\w*[a-z]_)(?=\W|$)", span):
        if not re.search(rf"\b{name}\b", SOURCE):
            yield name


def known_elsewhere(called):
    """Methods of arrays, frames and other libraries: the root is not a model."""
    root = called
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in FOREIGN


def resolves(dotted):
    """Whether a dotted name can be imported, module by module; "arm.clg" is a file."""
    parts, found = dotted.split("."), collegium
    for at, part in enumerate(parts[1:], 2):
        try:
            if not hasattr(found, part):
                importlib.import_module(".".join(parts[:at]))
            found = getattr(found, part)
        except (ImportError, AttributeError):
            return part == "clg" or is_written(parts)
    return True


def is_written(parts):
    """Whether the file of a module that needs an optional library has a name."""
    home = (ROOT / "src").joinpath(*parts[:2]).with_suffix(".py")
    text = home.read_text("utf-8") if home.exists() else ""
    return bool(text) and all(re.search(rf"\b{name}\b", text) for name in parts[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_and_arguments(page):
    wrong = [(span, name) for span in spans(page) for name in unknown(span)]
    if page.name in OF_OTHERS:
        wrong = [(span, name) for span, name in wrong if name.startswith("collegium")]
    assert not wrong


@pytest.mark.parametrize("page", PAGES + LESSONS, ids=lambda page: page.name)
def test_make_targets(page):
    for target in re.findall(r"`make ([a-z][\w-]*)", page.read_text("utf-8")):
        assert re.search(rf"^(?:[\w-]+ )*{target}[ :]", MAKEFILE, re.MULTILINE), target


PATH = re.compile(r"(?<![\w/.])((?:benchmarks|tests|examples|src|docs)/[\w./-]*\w/?)")


@pytest.mark.parametrize("page", PAGES + LESSONS, ids=lambda page: page.name)
def test_paths(page):
    for path in PATH.findall(FENCED.sub("", page.read_text("utf-8"))):
        assert (ROOT / path).exists(), path


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(path):
    """Headings of a page as forges and the site write them in links."""
    found = set()
    for line in FENCED.sub("", path.read_text("utf-8")).splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower())
            found.add(words.replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository(page):
    """Relative links lead to files and headings that exist, read here or on the site."""
    for link in LINK.findall(FENCED.sub("", page.read_text("utf-8"))):
        if link.startswith(("http:", "https:")):
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        generated = any(target.is_relative_to(ROOT / "docs" / name) for name in ("gallery", "api"))
        made = target.with_suffix(".rst").exists() or generated
        assert target.exists() or made, link
        if heading and target.suffix == ".md":
            assert heading in anchors(target), link


def test_options_of_the_command_line():
    pytest.importorskip("click")
    import click

    from collegium.cli.main import collegium as cli

    page = (ROOT / "docs" / "command_line.md").read_text("utf-8")
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    known = {
        option for command in commands.values() for one in command.params for option in one.opts
    }
    known |= {option for one in cli.params for option in one.opts} | {"--help"}
    assert commands
    for span in SPAN.findall(FENCED.sub("", page)):
        for option in re.findall(r"(?<!\S)(--?[a-z][\w-]*)", span):
            assert option in known or span.startswith(("RUN", "pip", "python")), (span, option)
    for command in re.findall(r"`collegium ([a-z][a-z-]*)", page):
        assert command in commands, command


def test_the_api_lists_every_public_name(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_site"))
    listing = importlib.import_module("listing")
    listed = listing.api_index().split()
    assert set(listing.ROOMS) == set(ROOMS)
    for name, one in public().items():
        if inspect.isclass(one) or inspect.isroutine(one):
            assert name in listed or name.endswith("Engine")
    assert (
        not {name for names in listing.SECTIONS.values() for name in names.split()}
        - public().keys()
    )


def test_wrong_names_are_seen():
    assert list(unknown("CommitteeRegressor(anchor=3)")) == ["CommitteeRegressor(anchor=)"]
    assert list(unknown("collegium.Nothing")) == ["collegium.Nothing"]
    assert list(unknown("model.predictt(X)")) == [".predictt()"]
    assert list(unknown("predict(X, return_sd=True)")) == ["predict(return_sd=)"]
    assert list(unknown("nlocal=0")) == ["nlocal="]
    assert list(unknown("model.never_was_")) == ["never_was_"]
    assert not list(unknown('CommitteeRegressor(likelihood="poisson").fit(X, y, exposure=e)'))
