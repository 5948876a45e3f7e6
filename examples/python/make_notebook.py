#!/usr/bin/env python3
"""Makes terrain.ipynb of terrain.py and runs it, so that it has its pictures.

`check` runs the notebook as it is, in the working folder, and writes nothing into the repository.
"""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def cells_of(script):
    """The cells of a script with marks `# %%`: pairs of type and source."""
    cells = []
    for part in re.split(r"^# %%", script, flags=re.M)[1:]:
        mark, _, body = part.partition("\n")
        body = body.strip("\n")
        if "[markdown]" in mark:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.split("\n")]
            cells.append(("markdown", "\n".join(lines)))
        else:
            cells.append(("code", body))
    return cells


def notebook_of(script):
    """A notebook without outputs."""
    import nbformat.v4 as v4

    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    cells = [make[kind](source, id=f"cell-{n}") for n, (kind, source) in enumerate(cells_of(script))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def run(notebook):
    """Runs all cells; an exception of one is raised here."""
    from nbclient import NotebookClient

    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    pictures = 0
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # Times, which differ in every run.
        for output in cell.get("outputs", []):
            pictures += "image/png" in output.get("data", {})
    return pictures


def main():
    import nbformat

    path = FOLDER / "terrain.ipynb"
    is_check = sys.argv[1:] == ["check"]
    notebook = nbformat.read(path, 4) if is_check else notebook_of((FOLDER / "terrain.py").read_text())
    pictures = run(notebook)
    target = Path("terrain.ipynb") if is_check else path
    nbformat.write(notebook, target)
    print(f"{target}: ran, {pictures} pictures, {target.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
