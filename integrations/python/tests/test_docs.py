"""Every snippet of docs/python.md and of the README runs; the stubs are those of the module."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def snippets(path):
    text = path.read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "integrations/python/README.md"])
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = snippets(ROOT / page)
    assert blocks
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page}, snippet {number + 1}", "exec"), names)


def test_the_docstring_of_the_package_runs():
    import doctest

    import terravox

    result = doctest.testmod(terravox)
    assert result.attempted > 3 and result.failed == 0


def test_everything_public_has_a_docstring():
    import terravox

    for name in terravox.__all__:
        thing = getattr(terravox, name)
        if not isinstance(thing, type):
            continue
        assert thing.__doc__, name
        for member, value in vars(thing).items():
            if not member.startswith("_"):
                assert value.__doc__, f"{name}.{member}"


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    check = [sys.executable, "-m", "mypy.stubtest", "terravox", "--ignore-disjoint-bases"]
    done = subprocess.run(check, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_notebook_is_its_script():
    import json

    folder = ROOT / "examples" / "python"
    notebook = json.loads((folder / "terrain.ipynb").read_text())
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    sys.path.insert(0, str(folder))
    try:
        import make_notebook
    finally:
        sys.path.remove(str(folder))
    assert cells == make_notebook.cells_of((folder / "terrain.py").read_text())
