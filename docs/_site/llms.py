"""llms.txt: every page with its title and first words, by section, for programs that read."""

from pathlib import Path

from docutils import nodes

HEAD = """# collegium

> Bayesian regression and classification by committees of Gaussian processes, in the style of
> scikit-learn: tables of 10 to 10^8 rows, streams, error bars that are checked on held-out rows.
"""
#: Headings with the folders of their pages; pages right below docs/ are how-tos.
SECTIONS = {
    "Start": "start", "How-to": "howto", "Explanation": "explanation", "Papers": "papers",
    "Gallery": "gallery", "Project": "project", "API": "api",
}  # fmt: skip
LONGEST = 200  # letters of the first paragraph


def first_words(tree) -> str:
    """The beginning of the first paragraph that is not within a note."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if text and not isinstance(paragraph.parent, nodes.Admonition):
            return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return ""


def folder(page: str) -> str:
    return page.split("/")[0] if "/" in page else "howto"


def write(app, exception):
    """One line a page; pages of the API by name alone."""
    if exception or app.builder.name != "html":
        return
    text = HEAD
    for heading, of in SECTIONS.items():
        text += f"\n## {heading}\n\n"
        for page in sorted(page for page in app.env.found_docs if folder(page) == of):
            words = "" if of == "api" else f": {first_words(app.env.get_doctree(page))}"
            text += f"- [{app.env.titles[page].astext()}]({page}.html){words}\n"
    Path(app.outdir, "llms.txt").write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
