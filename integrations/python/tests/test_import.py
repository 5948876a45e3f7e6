"""The example that imports a country: what it says about addresses, and where its meshes go."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import terravox as tv

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "import_country.py"
SMALL = ["synthetic:40", "--spacing", "30", "--voxel-size", "30", "--tile", "32", "--workers", "0", "--digest"]


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


def test_two_imports_into_one_database_share_no_tiles():
    module = load()
    dem = module.synthetic(40)
    plans = [module.Plan("synthetic:40", dem, spacing, 30.0, 32) for spacing in (30.0, 60.0)]
    targets = ["postgres://me@db/worlds#a", "postgres://me@db/worlds#b", "a.tvx"]
    folders = {module.tiles_folder(plan, target) for plan in plans for target in targets}
    # What an import removes at its end is the folder above.
    assert len(folders) == 6 and len({folder.parent for folder in folders}) == 3
    assert module.tiles_folder(plans[0], "x/a.tvx") == Path("x/a.tvx.tiles") / plans[0].key()


def test_a_tile_that_ends_its_workers_ends_the_import(monkeypatch):
    pytest.importorskip("distributed")
    module = load()
    monkeypatch.setattr(module, "DEATHS", 1)
    with pytest.raises(SystemExit, match="2 workers ended while they made one tile.*fewer --workers.*npy"):
        list(module.on_workers(1, lambda tile: os._exit(1), [(0, 0, 32, 32)], ()))


def test_a_country_is_not_loaded_for_a_digest_that_nobody_asked_for(tmp_path):
    done = run(tmp_path, *SMALL[:-1], "a.tvx")
    with tv.World.open(tmp_path / "a.tvx", read_only=True) as world:
        assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"complete: {world.chunks} chunks"
        again = run(tmp_path, *SMALL, "a.tvx")
        assert again.stdout.splitlines()[-1] == f"digest {world.digest()} of {world.chunks} chunks"


def test_meshes_of_two_mips_are_not_mixed(tmp_path):
    baked = run(tmp_path, *SMALL, "--bake", "0", "a.tvx")
    assert baked.returncode == 0, baked.stderr
    again = run(tmp_path, *SMALL, "--bake", "0", "a.tvx")
    assert again.stdout.splitlines()[-3:] == baked.stdout.splitlines()[-3:]
    other = run(tmp_path, *SMALL, "--bake", "0", "--tile", "64", "a.tvx")
    assert other.returncode == 1 and "a.tvx.bake: has meshes of another import or mip" in other.stderr
    other = run(tmp_path, *SMALL, "--bake", "0", "--tile", "64", "--bake-folder", "here/too", "a.tvx")
    assert other.returncode == 0 and list((tmp_path / "here" / "too").glob("*.npz"))


@pytest.mark.parametrize("how", [[], ["--at-once"]])
def test_a_world_that_exists_is_complete_and_of_this_import(tmp_path, how):
    done = run(tmp_path, *SMALL, *how, "a.tvx")
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "a.tvx").read_bytes()
    again = run(tmp_path, *SMALL, "a.tvx")
    assert again.returncode == 0 and again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]
    for other in [("synthetic:41", *SMALL[1:]), (*SMALL, "--voxel-size", "15"), (*SMALL, "--spacing", "31")]:
        refused = run(tmp_path, *other, *how, "a.tvx")
        assert refused.returncode == 1 and "a.tvx: exists already, and is complete" in refused.stderr, refused
    tv.World.create(tmp_path / "empty.tvx").close()
    refused = run(tmp_path, *SMALL, *how, "empty.tvx")
    assert refused.returncode == 1 and "exists already, and is not of an import" in refused.stderr
    assert (tmp_path / "a.tvx").read_bytes() == made


def test_an_import_at_once_that_fails_leaves_no_world_of_that_name(tmp_path):
    # 3000 x 3000 columns of 74 m in voxels of 0.4 m are beyond what one call fills.
    refused = run(tmp_path, "synthetic:41", "--spacing", "30", "--voxel-size", "0.4", "--at-once", "a.tvx")
    assert refused.returncode == 1 and "so split it" in refused.stderr and not (tmp_path / "a.tvx").exists()
    with tv.World.create(tmp_path / "b.tvx.at-once") as killed:
        killed.fill_box((0, 0, 0), (8, 8, 8), "rock")
    done = [run(tmp_path, *SMALL, *how) for how in (["--at-once", "b.tvx"], ["c.tvx"])]
    assert done[0].returncode == 0, done[0].stderr
    assert done[0].stdout.splitlines()[-1] == done[1].stdout.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir() if "b.tvx" in path.name] == ["b.tvx"]
