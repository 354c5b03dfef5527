"""Settings of the site: `make docs` builds it into build/site."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_site")]

import collegium  # noqa: E402

project = "collegium"
author = "The collegium developers"
project_copyright = author
version = release = collegium.__version__
html_title = f"collegium {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "names",  # of docs/_site: words in backticks become links to the API
    "listing",  # of docs/_site: the list of the API, and new pages among the how-tos
    "llms",  # of docs/_site: llms.txt, a list of all pages for programs that read
]
exclude_patterns = ["_site", "_templates", "gallery/**/*.ipynb", "**/sg_execution_times.rst"]
templates_path = ["_templates"]
root_doc = "index"
default_role = "name"
nitpick_ignore_regex = [("py:.*", r"(?!collegium).*")]  # types of other libraries are not linked
suppress_warnings = ["config.cache"]
if "plot_gallery=0" in sys.argv:  # it comes as a text, which is no fault
    suppress_warnings.append("config")

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# API
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {
    "inherited-members": "BaseEstimator,RegressorMixin,ClassifierMixin,MultiOutputMixin",
    "exclude-members": "get_metadata_routing",
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_validation_checks: set[str] = set()

# Examples
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": [f"../examples/gallery/{name}" for name in ("data", "targets", "jobs")],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),  # what is printed is shown, and pictures
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "parallel": 2,
    "plot_gallery": True,
    "backreferences_dir": None,
    "copyfile_regex": r".*\.rst",
}

# Pages
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"project/changelog": []}
html_theme_options = {
    "logo": {"text": "collegium"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
