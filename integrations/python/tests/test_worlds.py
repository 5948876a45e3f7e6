"""Worlds in files: saving, closing, damage, misuse."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import terravox as tv


def test_a_world_is_saved_and_opened_again(tmp_path):
    path = tmp_path / "world.tvx"
    with tv.World.create(path, voxel_size_m=0.5, origin_m=(100, 0, -50)) as world:
        world.fill_box((-20, -20, -20), (20, 0, 20), "rock")
        world.dig(tv.Brush.ball((100, 0, -50), 3))
        assert not world.saved
        digest = world.digest()
    assert world.closed and "closed" in repr(world)
    with pytest.raises(ValueError, match="the world is closed"):
        world.digest()
    world.close()
    with tv.World.open(path) as world:
        assert world.digest() == digest and world.saved and world.verify() == []
        assert (world.voxel_size_m, world.origin_m) == (0.5, (100, 0, -50))
        assert world.path == str(path) and world.chunks == 4
        info = world.info()
        assert info["bounds"] == ([-32, -32, -32], [32, 0, 32]) and info["file_bytes"] > 0
        assert world.undo() is not None, "what can be undone is saved, too"
        assert world.digest() != digest


def test_a_block_that_fails_saves_nothing(tmp_path):
    path = tmp_path / "world.tvx"
    with tv.World.create(path) as world:
        world.fill_box((0, 0, 0), (8, 8, 8), 8)
        digest = world.digest()
    with pytest.raises(ZeroDivisionError):
        with tv.World.open(path) as world:
            world.fill_box((0, 0, 0), (8, 8, 8), 2)
            1 / 0
    with tv.World.open(path) as world:
        assert world.digest() == digest


def test_an_overwritten_world_is_gone_at_once(tmp_path):
    path = tmp_path / "world.tvx"
    with tv.World.create(path) as world:
        world.fill_box((0, 0, 0), (8, 8, 8), 8)
    with pytest.raises(ZeroDivisionError):
        with tv.World.create(path, overwrite=True):
            1 / 0
    with tv.World.open(path) as world:
        assert world.chunks == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits how large a file may be")
def test_a_save_that_fails_at_the_end_of_a_block_loses_nothing(tmp_path):
    import resource

    path = tmp_path / "world.tvx"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    material = np.random.default_rng(1).choice(np.array([0, 2, 8], np.uint8), (64, 64, 64))
    world = tv.World.create(path)
    try:
        with pytest.raises(OSError) as caught:
            with world:
                world.write((0, 0, 0), material)
                resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert not world.closed and not world.saved
    digest = world.digest()
    with world:
        pass
    assert world.closed
    with tv.World.open(path) as world:
        assert world.digest() == digest


# Makes the given one of the coming syncs fail. The first one of a save is that of its data: then nothing is
# changed. The second one is that of the header.
FAILING_SYNC = """
#include <errno.h>
#include <unistd.h>
#include <sys/syscall.h>
int failing_sync;
int fdatasync(int file) {
    if (failing_sync > 0 && --failing_sync == 0) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, file);
}
"""

UNSURE = """
import ctypes, sys
import terravox as tv

fails = ctypes.c_int.in_dll(ctypes.CDLL(None), "failing_sync")
path, copy = sys.argv[1:]
world = tv.World.create(path)
world.fill_box((0, 0, 0), (8, 8, 8), "rock")
world.save()
world.fill_box((0, 0, 0), (8, 8, 8), "sand")
fails.value = 1
try:
    world.save()
except OSError as error:
    assert not isinstance(error, tv.WorldError), error
else:
    raise AssertionError("the first sync did not fail")
assert not world.saved
fails.value = 2
try:
    with world:
        pass
except tv.UnsureError as error:
    assert "may or may not be changed" in str(error), error
else:
    raise AssertionError("the second sync did not fail")
assert not world.closed and not world.saved
# In a file the next save completes it, if it can.
fails.value = 1
try:
    world.save()
except tv.UnsureError as error:
    assert "save_as keeps what is in memory" in str(error), error
else:
    raise AssertionError("the sync did not fail")
world.save_as(copy)
world.save()
assert world.saved
world.set_data("notes", b"whole")
print(world.digest())
world.close()
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="makes a sync fail by a C library")
def test_a_write_of_unknown_outcome_says_so(tmp_path):
    (tmp_path / "sync.c").write_text(FAILING_SYNC)
    library = tmp_path / "sync.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "sync.c"], check=True)
    path, copy = tmp_path / "world.tvx", tmp_path / "copy.tvx"
    command = [sys.executable, "-c", UNSURE, path, copy]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": str(library)})
    assert done.returncode == 0, done.stderr
    digest = done.stdout.strip()
    with tv.World.open(copy) as world:
        assert world.digest() == digest
    with tv.World.open(path) as world:
        assert world.digest() == digest and world.verify() == [] and world.data("notes") == b"whole"


def test_a_copy_in_a_file(tmp_path):
    world = tv.World.memory(voxel_size_m=2)
    world.fill_box((-5, -5, -5), (60, 9, 9), "grass")
    with pytest.raises(tv.WorldError, match="memory only; save_as"):
        world.save()
    world.save_as(tmp_path / "a.tvx")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        world.save_as(tmp_path / "a.tvx")
    world.save_as(tmp_path / "a.tvx", overwrite=True)
    with tv.World.open(tmp_path / "a.tvx", load=False) as stored:
        assert stored.digest() == world.digest() and stored.voxel_size_m == 2
        stored.save_as(tmp_path / "b.tvx")
    with tv.World.open(tmp_path / "b.tvx") as copy:
        assert copy.digest() == world.digest()


@pytest.mark.parametrize("load", [False, True])
def test_a_copy_has_data_and_the_undo_history(tmp_path, load):
    with tv.World.create(tmp_path / "a.tvx") as world:
        world.fill_box((0, 0, 0), (16, 16, 16), "rock")
        before = world.digest()
        world.dig(tv.Brush.ball((8, 8, 8), 3))
        dug = world.digest()
        world.set_data("notes", b"dug")
    with tv.World.open(tmp_path / "a.tvx", load=load) as world:
        world.save_as(tmp_path / "b.tvx")
        if load:  # What is not saved is copied, too.
            world.undo()
            world.save_as(tmp_path / "c.tvx")
    with tv.World.open(tmp_path / "b.tvx") as copy:
        assert copy.digest() == dug and copy.data("notes") == b"dug" and copy.saved
        assert copy.undo() is not None and copy.digest() == before
    if load:
        with tv.World.open(tmp_path / "c.tvx") as copy:
            assert copy.digest() == before and copy.redo() is not None and copy.digest() == dug
    memory = tv.World.memory()
    memory.fill(tv.Brush.ball((0, 0, 0), 5), "rock")
    memory.save_as(tmp_path / "d.tvx")
    with tv.World.open(tmp_path / "d.tvx") as copy:
        assert copy.undo() is not None and copy.digest() == tv.World.memory().digest()


def test_a_copy_is_made_without_data_that_is_damaged(tmp_path):
    path, notes = tmp_path / "world.tvx", bytes(range(256)) * 20
    with tv.World.create(path) as world:
        world.fill_box((0, 0, 0), (8, 8, 8), "rock")
        world.set_data("notes", notes)
        world.set_data("others", b"whole")
        digest = world.digest()
    file = path.read_bytes()
    assert file.count(notes) == 1
    path.write_bytes(file.replace(notes, notes[::-1]))
    with tv.World.open(path) as world, pytest.warns(RuntimeWarning, match="the copy is without.*notes"):
        world.save_as(tmp_path / "copy.tvx")
    with tv.World.open(tmp_path / "copy.tvx") as copy:
        assert copy.digest() == digest and copy.data("others") == b"whole" and copy.data("notes") is None


def test_copies_are_files(tmp_path):
    for scheme in ("postgres", "postgresql"):
        with pytest.raises(ValueError, match="save_as writes a file") as caught:
            tv.World.memory().save_as(f"{scheme}://me:SECRET@db/worlds#a")
        assert "SECRET" not in str(caught.value)


def test_a_world_that_grows_is_copied_as_it_is_stored(tmp_path):
    with tv.World.open(grown(tmp_path), read_only=True) as world:
        world.save_as(tmp_path / "copy.tvx")
        cells = world.read((0, 32, 0), (32, 64, 32))
    with tv.World.open(tmp_path / "copy.tvx", read_only=True) as copy:
        copied = copy.read((0, 32, 0), (32, 64, 32))
        np.testing.assert_array_equal(copied.material, cells.material)
        assert copy.chunks == 1 and cells.material[18, 16, 16] != 0


def test_rays_do_not_miss_what_is_not_stored(tmp_path):
    with tv.World.open(grown(tmp_path), read_only=True) as world:
        known = (16.5, 60, 16.5)
        assert world.rays([known], [(0, -1, 0)]).hit.all()
        with pytest.raises(tv.WorldError, match=r"origins\[1\].*grows from a generator"):
            world.rays([known, (1000, 60, 0)], [(0, -1, 0)])


def grown(folder):
    """A world that grows from a generator: of `terravox generate --sparse --seed 7`, and
    `terravox edit 'fill Rock ball 16,50,16 r=4'`."""
    return shutil.copy(Path(__file__).parent / "data" / "grows.tvx", folder / "grows.tvx")


def test_materials_of_ones_own(tmp_path):
    materials = [
        tv.Material("air", kind="air"),
        tv.Material("water", kind="liquid", colour=(40, 90, 140)),
        tv.Material("stone", shape="blocky", hardness=2, colour=[120, 120, 125]),
    ]
    with tv.World.create(tmp_path / "world.tvx", materials=materials) as world:
        assert world.materials == materials and world.material("Stone") == 2
        world.fill_box((0, 0, 0), (4, 4, 4), "stone")
    with tv.World.open(tmp_path / "world.tvx") as world:
        stone = world.materials[2]
        assert (stone.name, stone.kind, stone.shape, stone.hardness) == ("stone", "solid", "blocky", 2)
        assert stone.colour == (120, 120, 125) and repr(stone) == 'Material("stone", kind="solid")'
    for wrong, text in [
        (lambda: tv.Material("x", kind="gas"), "air, liquid, solid"),
        (lambda: tv.World.memory(materials=[tv.Material("x", friction=-1)]), "friction|air"),
        (lambda: tv.World.memory(materials=[tv.Material("x")] * 300), "256"),
        (lambda: tv.World.memory(voxel_size_m=np.nan), "voxel size is NaN"),
        (lambda: tv.World.memory(voxel_size_m=0), "voxel size is 0"),
        (lambda: tv.World.memory(origin_m=(np.inf, 0, 0)), "origin"),
        (lambda: tv.World.memory().material("lava"), "no material"),
    ]:
        with pytest.raises(ValueError, match=text):
            wrong()


def test_bytes_of_ones_own(tmp_path):
    with tv.World.create(tmp_path / "world.tvx") as world:
        assert world.data("notes") is None
        world.set_data("notes", b"\0\1dug")
        with pytest.raises(ValueError, match="terravox's own"):
            world.set_data("undo", b"")
        with pytest.raises(tv.WorldError, match="name has 0 bytes"):
            world.set_data("", b"")
    with tv.World.open(tmp_path / "world.tvx") as world:
        assert world.data("notes") == b"\0\1dug"
        world.set_data("notes", None)
        assert world.data("notes") is None


def test_files_that_are_none_or_missing(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        tv.World.open(tmp_path / "missing.tvx")
    assert caught.value.errno == errno.ENOENT and caught.value.filename.endswith("missing.tvx")
    with pytest.raises(OSError):
        tv.World.create(tmp_path / "no folder" / "world.tvx")
    (tmp_path / "text.tvx").write_bytes(b"not a world, but long enough to be looked at" * 100)
    with pytest.raises(tv.NotAWorldError, match="text.tvx: not a terravox world"):
        tv.World.open(tmp_path / "text.tvx")
    with pytest.raises(tv.WorldError):
        tv.World.create(tmp_path / "text.tvx", overwrite=True)
    with pytest.raises((OSError, tv.WorldError)):
        tv.World.open(tmp_path)
    if not tv.HAS_POSTGRES:
        with pytest.raises(tv.WorldError, match="no PostgreSQL.*--features postgres"):
            tv.World.open("postgres://me@localhost/worlds#hills")


def test_one_writer_and_many_readers(tmp_path):
    path = tmp_path / "world.tvx"
    with tv.World.create(path) as world:
        world.fill_box((0, 0, 0), (8, 8, 8), 8)
        with pytest.raises(tv.WorldInUseError, match="close it there first"):
            tv.World.open(path)
    with tv.World.open(path, read_only=True) as a, tv.World.open(path, read_only=True) as b:
        assert a.digest() == b.digest()
        for change in [
            lambda: a.fill_box((0, 0, 0), (1, 1, 1), 0),
            lambda: a.write((0, 0, 0), np.zeros((1, 1, 1), np.uint8)),
            lambda: a.dig(tv.Brush.ball((0, 0, 0), 2)),
            lambda: a.save(),
            lambda: a.set_data("a", b""),
            lambda: a.merge(path),
        ]:
            with pytest.raises(tv.ReadOnlyError):
                change()


def test_what_needs_the_cells_in_memory_says_so(tmp_path):
    with tv.World.create(tmp_path / "world.tvx", load=False) as world:
        for call in [
            lambda: world.rays([(0, 0, 0)], [(0, 1, 0)]),
            lambda: world.dig(tv.Brush.ball((0, 0, 0), 2)),
            lambda: world.fill_box((0, 0, 0), (1, 1, 1), 8),
            lambda: world.undo(),
        ]:
            with pytest.raises(tv.WorldError, match="needs the cells in memory.*load=False"):
                call()
        assert world.saved and world.save() == 0


def test_damage_costs_a_chunk_and_is_named(tmp_path):
    path = tmp_path / "world.tvx"
    rng = np.random.default_rng(1)
    with tv.World.create(path) as world:
        world.write((0, 0, 0), rng.choice(np.array([0, 2, 8], np.uint8), (96, 96, 96)))
        digest = world.digest()
    data = bytearray(path.read_bytes())
    for at in range(len(data) // 2, len(data) // 2 + 64):
        data[at] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(tv.DamagedWorldError, match="skip_damaged=True"):
        tv.World.open(path, read_only=True)
    with tv.World.open(path, read_only=True, skip_damaged=True) as world:
        assert 1 <= len(world.damaged) <= 3 and world.digest() != digest
        assert world.verify()
    with tv.World.open(path, read_only=True, load=False) as world:
        with pytest.raises(tv.WorldError, match="damaged"):
            world.digest()
        with pytest.raises(tv.DamagedWorldError):
            world.read((0, 0, 0), (96, 96, 96))


@pytest.mark.parametrize("load", [False, True])
def test_merged_parts_are_the_whole(tmp_path, load):
    whole = tv.World.memory()
    rng = np.random.default_rng(7)
    parts = []
    for i, x in enumerate((-64, 0, 64)):
        material = rng.choice(np.array([0, 2, 8], np.uint8), (40, 50, 64))
        whole.write((x, -7, 3), material)
        parts.append(tmp_path / f"part-{i}.tvx")
        with tv.World.create(parts[-1]) as part:
            part.write((x, -7, 3), material)
    with tv.World.create(tmp_path / "all.tvx", load=load) as world:
        for part in [parts[2], parts[0], parts[1], parts[0]]:
            assert world.merge(part) > 0
        assert world.digest() == whole.digest()
    with tv.World.open(tmp_path / "all.tvx", load=False) as world:
        assert world.digest() == whole.digest() and world.verify() == []
        other = tmp_path / "other.tvx"
        for given, text in [
            (dict(voxel_size_m=2), "voxel size is 2 m, that of this world is 1 m"),
            (dict(origin_m=(1, 0, 0)), "origin"),
            (dict(materials=[tv.Material("air", kind="air")]), "materials"),
        ]:
            tv.World.create(other, overwrite=True, **given).close()
            with pytest.raises(tv.WorldError, match=text):
                world.merge(other)
        with pytest.raises(FileNotFoundError):
            world.merge(tmp_path / "missing.tvx")
        assert world.digest() == whole.digest()


def test_a_killed_process_loses_only_what_it_did_not_save(tmp_path):
    path = tmp_path / "world.tvx"
    code = f"""
import os, terravox as tv
world = tv.World.create({str(path)!r})
world.fill_box((0, 0, 0), (9, 9, 9), 8)
world.save()
print(world.digest(), flush=True)
world.fill_box((0, 0, 0), (9, 9, 9), 2)
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    with tv.World.open(path) as world:
        assert world.digest() == done.stdout.strip()


def test_the_digest_is_of_cells_and_materials_only():
    assert tv.World.memory().digest() == tv.World.memory(voxel_size_m=3).digest()
    world = tv.World.memory()
    empty = world.digest()
    world.fill_box((0, 0, 0), (4, 4, 4), 8)
    assert world.digest() != empty and len(world.digest()) == 32
    world.fill_box((0, 0, 0), (4, 4, 4), 0)
    assert world.digest() == empty, "listed air does not count"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_refused_and_the_world_stays_whole(tmp_path):
    path = tmp_path / "world.tvx"
    with tv.World.create(path) as world:
        world.fill_box((0, 0, 0), (40, 8, 8), "rock")
        world.save()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                world.fill_box((0, 0, 0), (8, 40, 8), "grass")
            except tv.WorldError as error:
                status = 0 if "another process" in str(error) else 2
            world.close()
            del world
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        world.fill_box((0, 0, 0), (8, 8, 40), "sand")
        world.save()
        # The lock is still held.
        with pytest.raises(tv.WorldInUseError):
            tv.World.open(path)
    with tv.World.open(path) as world:
        assert world.verify() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_closed_world_can_be_opened_though_a_forked_process_lives_on(tmp_path):
    path = tmp_path / "world.tvx"
    world = tv.World.create(path)
    waits, ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends)
        os.read(waits, 1)
        os._exit(0)
    try:
        with pytest.raises(tv.WorldInUseError):
            tv.World.open(path)
        world.close()
        tv.World.open(path).close()
    finally:
        os.close(ends)
        os.waitpid(child, 0)
        os.close(waits)
