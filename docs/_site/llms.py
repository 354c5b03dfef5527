"""llms.txt: every page with its title and first sentence, for programs that read."""

import re
from pathlib import Path

from docutils import nodes

HEAD = """# collegium

> Bayesian regression and classification by committees of Gaussian processes, in the style of
> scikit-learn: tables of 10 to 10^8 rows, streams, error bars that are checked on held-out rows.

"""


def first_sentence(tree) -> str:
    """The first sentence of the first paragraph, without line breaks."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if text:
            return re.split(r"(?<=[.:!?]) ", text)[0]
    return ""


def write(app, exception):
    """One line a page, in the order of the navigation, pages of the API by name alone."""
    if exception or app.builder.name != "html":
        return
    lines = []
    for page in sorted(app.env.found_docs):
        title = app.env.titles[page].astext()
        line = f"- [{title}]({page}.html)"
        if not page.startswith("api/generated/"):
            line += f": {first_sentence(app.env.get_doctree(page))}"
        lines.append(line)
    Path(app.outdir, "llms.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
