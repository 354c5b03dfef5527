"""Words in backticks in docstrings: a link where they are public names, and code elsewhere."""

import importlib
import re

from docutils import nodes
from listing import ROOMS
from sphinx import addnodes

import collegium

#: Attributes by which estimators say to the code what they can do.
INTERNAL = {"takes_tables", "sums_messages", "explains", "acts_after_fit"}
INTERNAL |= {"explained_level", "levels"}
PAGE = re.compile(r"\bdocs/(\w+)\.md\b")


def public_names() -> dict[str, str]:
    """From what people write, `Select` or `kernels.Group`, to the name in the API."""
    found = {name: f"collegium.{name}" for name, home in collegium.HOMES.items() if home}
    for room in ROOMS:
        for name in importlib.import_module(f"collegium.{room}").__all__:
            found.setdefault(name, f"collegium.{room}.{name}")
            found[f"{room}.{name}"] = f"collegium.{room}.{name}"
    return found | {f"collegium.{short}": long for short, long in found.items()}


NAMES = public_names()


def name_role(role, rawtext, text, lineno, inliner, options=None, content=None):
    """`Select(rule, m)` links to the page of Select; anything else is code."""
    literal = nodes.literal(rawtext, text)
    target = NAMES.get(text.split("(")[0])
    if not target or not inliner.document.settings.env.config.link_names:
        return [literal], []
    reference = addnodes.pending_xref(
        rawtext, literal, refdomain="py", reftype="obj", reftarget=target, refwarn=False
    )
    return [reference], []


def as_written(app, what, name, obj, options, lines):
    """docs/errors.md becomes a link to that page; |x| is a norm, not a substitution."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", _without_bars(line)) for line in lines]


def _without_bars(line: str) -> str:
    """Escape bars outside of backticks; code that runs stays as it is."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = re.split(r"(`+[^`]*`+)", line)
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def without_inherited(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds for its routing of metadata, and functions of Python."""
    if getattr(obj, "__module__", "") == "_operator" or name in INTERNAL:
        return True
    if re.fullmatch(r"set_(fit|predict|score|partial_fit|predict_proba|transform)_request", name):
        return True
    return None


def setup(app):
    app.add_config_value("link_names", True, "env")
    app.add_role("name", name_role)
    app.connect("autodoc-process-docstring", as_written, priority=900)
    app.connect("autodoc-skip-member", without_inherited)
    return {"parallel_read_safe": True}
