"""Settings of the documentation site; `make docs` builds it, warnings count as errors."""

from __future__ import annotations

import sys
from pathlib import Path

import calibrant as cal

sys.path.insert(0, str(Path(__file__).parent / "site"))

project = "calibrant"
author = "The calibrant developers"
copyright = "The calibrant developers"  # noqa: A001
version = release = cal.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "pages",
    "code_links",
    "plain_math",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "site"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
viewcode_line_numbers = True
suppress_warnings = ["myst.header"]

# Quotes and ellipses; two hyphens begin an option.
smartquotes_action = "qe"

html_theme = "pydata_sphinx_theme"
html_title = "calibrant"
html_static_path = ["site/static"]
html_css_files = ["calibrant.css"]
html_js_files = ["copy.js"]
html_theme_options = {
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_depth": 2,
    "show_nav_level": 1,
    "collapse_navigation": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "which_measure": []},
}
html_sidebars = {"index": [], "plots": [], "which_measure": []}
html_show_sourcelink = False
html_copy_source = False
