"""Pages that follow the code: the list of the API, and new pages among the how-tos."""

import importlib
import inspect
import re
import shutil
from pathlib import Path

import collegium

DOCS = Path(__file__).resolve().parents[1]
#: Headings with public names of `collegium`; those that are in none of them come last.
SECTIONS = {
    "Tables": """CommitteeRegressor CommitteeClassifier CommitteeOf ExpertsRegressor
        SparseGPRegressor NystromRegressor""",
    "Streams": """OnlineGPRegressor OnlineGPClassifier RegressionFilter RVCRegressor
        StreamWarning""",
    "Options: small objects for arguments that belong together": """AnswerTime CG Chunks Inductive
        Learn Limits Select Sweeps Transductive Transform""",
    "Rows in files, ledgers and model files": """open Source Ledger Certificate LedgerError load
        ModelFileError warm_up""",
    "Anchors and degrees of freedom": """select_anchors effective_dof estimated_dof match_dof
        numerical_rank sample_prior ExtrapolationWarning""",
    "The parts of a committee": """Message Belief normalise Anchors Features Chunk Block Diagonal
        Projected""",
}
TITLES = {
    "combining": "Combine Gaussian predictions",
    "kernels": "Kernels",
    "likelihoods": "Likelihoods",
    "filter": "Bases and densities of regression filters",
    "optimise": "Bayesian optimisation",
    "metrics": "Metrics",
    "plots": "Pictures",
    "datasets": "Data",
    "engines": "Engines",
    "explain": "Explanations",
}
#: Public modules, in this order, with their headings; those without one come last.
MODULES = [name for name, home in collegium.HOMES.items() if not home]
ROOMS = {name: title for name, title in TITLES.items() if name in MODULES}
ROOMS |= {name: name.capitalize() for name in MODULES if name not in TITLES}
HEAD = """API
===

Names are imported from where they are listed: ``from collegium import CommitteeRegressor``,
``from collegium.kernels import Matern32``.
"""


def documented(name: str) -> bool:
    """Whether a public name is a class or a function, not a constant or a module."""
    found = getattr(collegium, name)
    return inspect.isclass(found) or inspect.isroutine(found)


def section(title: str, module: str, names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return (
        f"\n{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n"
    )


def api_index() -> str:
    """Every public name once, below a heading."""
    chosen = {title: names.split() for title, names in SECTIONS.items()}
    taken = {name for names in chosen.values() for name in names}
    chosen["More"] = [
        name for name in sorted(collegium.HOMES) if name not in taken and documented(name)
    ]
    text = HEAD + "".join(section(title, "collegium", names) for title, names in chosen.items())
    for room, title in ROOMS.items():
        module = importlib.import_module(f"collegium.{room}")
        public = [*module.__all__, *(["map"] if room == "plots" and hasattr(module, "map") else [])]
        known = collegium.HOMES  # these are listed above
        names = [name for name in public if name not in known and callable(getattr(module, name))]
        text += section(f"{title}: collegium.{room}", f"collegium.{room}", names)
    return text


def unlisted() -> list[str]:
    """Pages right below docs/ that no index names."""
    known = "\n".join(path.read_text("utf-8") for path in DOCS.glob("*/index.md"))
    known += (DOCS / "index.md").read_text("utf-8")
    pages = sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "index")
    return [
        page for page in pages if not re.search(rf"^(?:\.\./|.*<){page}>?$", known, re.MULTILINE)
    ]


def add_pages(app, docname, source):
    """Put pages that no index names at the end of the how-tos."""
    if docname == "howto/index":
        more = "".join(f"../{page}\n" for page in unlisted())
        source[0] = re.sub(r"```\s*$", f"{more}```\n", source[0])


def write_api(app):
    """Write the list anew where names have changed, and drop pages of names that are gone."""
    path = DOCS / "api" / "index.rst"
    text = api_index()
    if not path.exists() or path.read_text("utf-8") != text:
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("config-inited", lambda app, config: write_api(app))
    app.connect("source-read", add_pages)
    return {"parallel_read_safe": True}
