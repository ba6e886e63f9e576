"""The documentation site: `make docs` builds it, without network; a warning is an error."""

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

import tallsbi

project = "tallsbi"
author = "the tallsbi authors"
copyright = author
version = release = tallsbi.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["runs", "*.ipynb"]
source_suffix = {".md": "markdown"}

html_theme = "pydata_sphinx_theme"
html_title = "tallsbi"
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Docstrings are prose with `code` in single backticks.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 80

# GitHub draws these diagrams; here they are shown as they are written.
lexers["mermaid"] = TextLexer()
