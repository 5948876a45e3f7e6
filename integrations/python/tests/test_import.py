"""The example that imports a country: what it says about addresses, and where its meshes go."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "import_country.py"
SMALL = ["synthetic:40", "--spacing", "30", "--voxel-size", "30", "--tile", "32", "--workers", "0"]


def load():
    spec = importlib.util.spec_from_file_location("import_country", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder, *arguments):
    command = [sys.executable, str(EXAMPLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize(
    "given, address, password",
    [
        ("postgres://me:pa%2Fss@db/worlds?sslmode=disable#a", "postgres://me@db/worlds?sslmode=disable#a", "pa/ss"),
        ("postgresql://me:x:y@[::1]:5432/worlds#a", "postgresql://me@[::1]:5432/worlds#a", "x:y"),
        ("postgres://me@db/worlds#a", "postgres://me@db/worlds#a", None),
        ("postgres://db:5432/worlds#a", "postgres://db:5432/worlds#a", None),
        ("folder/me:x@y.tvx", "folder/me:x@y.tvx", None),
    ],
)
def test_passwords_go_to_the_environment(monkeypatch, given, address, password):
    monkeypatch.setattr(os, "environ", {})
    assert load().without_password(given) == address
    assert os.environ == ({} if password is None else {"PGPASSWORD": password})


def test_a_database_has_no_folder_beside_it(tmp_path):
    done = run(tmp_path, "synthetic:40", "postgres://me:secret@127.0.0.1:1/worlds#a", "--bake", "0")
    assert done.returncode == 2 and "needs --bake-folder" in done.stderr
    assert "secret" not in done.stdout + done.stderr and not list(tmp_path.iterdir())
    # Nothing is there, which must not show the password, either.
    done = run(tmp_path, "synthetic:40", "postgres://me:secret@127.0.0.1:1/worlds#a", "--workers", "0")
    assert done.returncode == 1 and done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_meshes_of_two_mips_are_not_mixed(tmp_path):
    baked = run(tmp_path, *SMALL, "--bake", "0", "a.tvx")
    assert baked.returncode == 0, baked.stderr
    again = run(tmp_path, *SMALL, "--bake", "0", "a.tvx")
    assert again.stdout.splitlines()[-2:] == baked.stdout.splitlines()[-2:]
    other = run(tmp_path, *SMALL, "--bake", "0", "--tile", "64", "a.tvx")
    assert other.returncode == 1 and "a.tvx.bake: has meshes of another import or mip" in other.stderr
    other = run(tmp_path, *SMALL, "--bake", "0", "--tile", "64", "--bake-folder", "here/too", "a.tvx")
    assert other.returncode == 0 and list((tmp_path / "here" / "too").glob("*.npz"))
