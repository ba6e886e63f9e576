"""Notebook versions of pages: `python docs/notebook.py FOLDER` writes them; `make docs` does so beside the site.

The Markdown page is the source; tests run the cells of the notebooks made of it.
"""

import json
import re
import sys
from pathlib import Path

PAGES = ("tutorial", "own-simulator")


def notebook(page: str) -> str:
    """The JSON of the notebook, the same for the same page."""
    cells: list[dict] = []
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```\n", page, flags=re.MULTILINE | re.DOTALL)):
        if part.strip():
            kind = ("markdown", {}) if number % 2 == 0 else ("code", {"execution_count": None, "outputs": []})
            source = part.strip("\n").splitlines(keepends=True)
            cells.append(
                {
                    "cell_type": kind[0],
                    "id": f"cell-{len(cells)}",
                    "metadata": {},
                    "source": source,
                    **kind[1],
                }
            )
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        text = (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8")
        (target / f"{name}.ipynb").write_text(notebook(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
