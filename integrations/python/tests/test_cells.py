"""Reading and writing regions."""

import sys
import threading
import time

import numpy as np
import pytest

import terravox as tv


def random_cells(seed, shape):
    rng = np.random.default_rng(seed)
    material = rng.choice(np.array([0, 0, 1, 2, 8], np.uint8), shape)
    occupancy = rng.integers(0, 256, shape, np.uint8)
    occupancy[material == 0] = 0
    return material, occupancy


@pytest.mark.parametrize("min", [(0, 0, 0), (-37, -5, -70), (31, -33, 1)])
def test_what_is_written_is_read(min):
    world = tv.World.memory()
    material, occupancy = random_cells(1, (41, 37, 70))  # y, z, x
    world.write(min, material, occupancy)
    cells = world.read(min, (min[0] + 70, min[1] + 41, min[2] + 37))
    np.testing.assert_array_equal(cells.material, material)
    np.testing.assert_array_equal(cells.occupancy, occupancy)
    assert cells.shape == (41, 37, 70) and cells.min == min and cells.mip == 0
    assert cells.material.flags.c_contiguous and cells.material.dtype == np.uint8


def test_axes_are_y_z_x():
    world = tv.World.memory()
    world.fill_box((5, 6, 7), (6, 7, 8), "rock")
    cells = world.read((0, 0, 0), (10, 11, 12))
    assert cells.shape == (11, 12, 10)
    assert np.argwhere(cells.material).tolist() == [[6, 7, 5]]


def test_parts_agree_with_the_whole_at_every_offset():
    world = tv.World.memory()
    material, occupancy = random_cells(2, (70, 70, 70))
    world.write((-35, -35, -35), material, occupancy)
    whole = world.read((-40, -40, -40), (40, 40, 40))
    rng = np.random.default_rng(3)
    for _ in range(60):
        a, b = np.sort(rng.integers(-40, 41, (2, 3)), axis=0)
        part = world.read(a, b)
        y, z, x = (slice(a[i] + 40, b[i] + 40) for i in (1, 2, 0))
        np.testing.assert_array_equal(part.material, whole.material[y, z, x])
        np.testing.assert_array_equal(part.occupancy, whole.occupancy[y, z, x])


def test_coarse_mips_cover_the_fine_cells():
    world = tv.World.memory()
    world.fill_box((-64, -64, -64), (64, 0, 64), "rock")
    for mip in range(9):
        low, high = -64 >> mip, max(64 >> mip, 1)
        cells = world.read((low, low, low), (high, high, high), mip)
        assert cells.mip == mip
        if mip <= 6:
            assert (cells.material[: -low] == world.material("rock")).all()
            assert not cells.material[-low:].any()


def test_a_mip_is_the_same_from_memory_and_from_the_file(tmp_path):
    path = tmp_path / "world.tvx"
    material, occupancy = random_cells(4, (64, 64, 64))
    with tv.World.create(path) as world:
        world.write((-32, -32, -32), material, occupancy)
    with tv.World.open(path, read_only=True) as loaded:
        with tv.World.open(path, read_only=True, load=False) as stored:
            assert stored.digest() == loaded.digest()
            assert stored.bounds == loaded.bounds == ([-32, -32, -32], [32, 32, 32])
            for mip in range(6):
                a, b = (-40 >> mip,) * 3, (40 >> mip,) * 3
                for name in ("material", "occupancy", "water", "water_index"):
                    expected = getattr(loaded.read(a, b, mip), name)
                    np.testing.assert_array_equal(getattr(stored.read(a, b, mip), name), expected)


def test_out_is_written_again():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (8, 8, 8), 8)
    first = world.read((0, 0, 0), (8, 8, 8))
    arrays = first.material, first.occupancy
    world.fill_box((0, 0, 0), (8, 8, 8), 0)
    second = world.read((0, 0, 0), (8, 8, 8), out=first)
    assert second is first
    assert second.material is arrays[0] and second.occupancy is arrays[1]
    assert not arrays[0].any() and not arrays[1].any()
    with pytest.raises(ValueError, match=r"out has arrays of shape .* needs \[9, 8, 8\]"):
        world.read((0, 0, 0), (8, 9, 8), out=first)


def test_what_is_read_into_out_is_all_of_one_place():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (32, 8, 32), "rock")
    world.dig(tv.Brush.ball((16, 8, 16), 6))
    world.flood(tv.Brush.box((16, 4, 16), (8, 2.5, 8)), "water")
    cells = world.read((0, 0, 0), (32, 12, 32))
    assert len(cells.water) > 0
    # Elsewhere there is no water: what was there before must not come along.
    assert world.read((64, 0, 0), (96, 12, 32), out=cells) is cells
    assert cells.min == (64, 0, 0) and len(cells.water) == len(cells.water_index) == 0
    assert world.read((0, 0, 0), (32, 12, 32), 1, out=cells) is cells and cells.mip == 1
    fresh = world.read((0, 0, 0), (32, 12, 32))
    world.read((0, 0, 0), (32, 12, 32), out=cells)
    for name in ("material", "occupancy", "water_index", "water"):
        np.testing.assert_array_equal(getattr(cells, name), getattr(fresh, name))
    copy = tv.World.memory()
    copy.write(cells.min, cells.material, cells.occupancy, water_index=cells.water_index, water=cells.water)
    assert copy.digest() == world.digest()


def test_fractions_are_those_of_the_cells():
    world = tv.World.memory()
    material = np.array([[[0, 2, 2, 8]]], np.uint8)
    world.write((0, 0, 0), material, np.array([[[0, 0, 127, 255]]], np.uint8))
    fraction = world.read((0, 0, 0), (4, 1, 1)).fraction()
    assert fraction.dtype == np.float32
    assert fraction.tolist() == [[[0.0, 1 / 256, 0.5, 1.0]]]


def test_water_in_solid_cells_is_listed(tmp_path):
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (32, 8, 32), "rock")
    world.dig(tv.Brush.ball((16, 8, 16), 6))
    world.flood(tv.Brush.box((16, 4, 16), (8, 2.5, 8)), "water")
    cells = world.read((-3, -3, -3), (32, 12, 32))
    assert cells.water.dtype == np.uint8 and len(cells.water) == len(cells.water_index) > 0
    assert (np.diff(cells.water_index) > 0).all()
    held = cells.material.reshape(-1)[cells.water_index]
    assert (held == world.material("rock")).all()
    copies = [tv.World.memory(), tv.World.memory()]
    water = dict(water_index=cells.water_index, water=cells.water)
    copies[0].write((-3, -3, -3), cells.material, cells.occupancy, **water)
    copies[1].paste((-3, -3, -3), cells.material, cells.occupancy, **water)
    assert {copy.digest() for copy in copies} == {world.digest()}
    copies[0].write((-3, -3, -3), cells.material, cells.occupancy)
    assert copies[0].digest() != world.digest(), "no water was given"
    for wrong, text in [
        (dict(water=cells.water), "come together"),
        (dict(water_index=cells.water_index, water=cells.water[1:].copy()), "shape"),
        (dict(water_index=cells.water_index + cells.material.size, water=cells.water), "must be 0 to"),
        (dict(water_index=-1 - cells.water_index, water=cells.water), "must be 0 to"),
    ]:
        with pytest.raises(ValueError, match=text):
            copies[0].write((-3, -3, -3), cells.material, **wrong)


def test_empty_regions_are_empty_arrays():
    cells = tv.World.memory().read((3, 3, 3), (3, 9, 9))
    assert cells.shape == (6, 6, 0) and cells.material.size == 0


def test_limits_of_the_world():
    world, edge = tv.World.memory(), tv.LIMIT
    world.fill_box((edge - 4, edge - 4, -edge), (edge, edge, 4 - edge), 8)
    cells = world.read((edge - 5, edge - 5, -edge), (edge, edge, 5 - edge))
    assert (cells.material != 0).sum() == 64
    for box in [((edge, 0, 0), (edge + 1, 1, 1)), ((-edge - 1, 0, 0), (0, 1, 1))]:
        with pytest.raises(ValueError, match="limits of a world"):
            world.read(*box)
    with pytest.raises(ValueError, match="inverted"):
        world.read((0, 0, 0), (1, -1, 1))
    with pytest.raises(ValueError, match=r"2\^30.*split it"):
        world.read((0, 0, 0), (2048, 1024, 1024))
    with pytest.raises(ValueError, match=r"2\^30"):
        world.fill_box((-edge, -edge, -edge), (edge, edge, edge), 8)
    with pytest.raises(ValueError, match=r"crosses 33554432 blocks .* takes 262144 \(2\^18\)"):
        world.fill_box((-edge // 2, 0, 0), (edge // 2, 1, 1), 8)
    with pytest.raises(ValueError, match="mip is 9"):
        world.read((0, 0, 0), (1, 1, 1), 9)
    with pytest.raises(TypeError):
        world.read((0.5, 0, 0), (1, 1, 1))


def wrong_arrays(good):
    """Arrays that are refused, and what the message says."""
    return [
        (good.astype(np.int32), TypeError, "array of int32; it must be of"),
        (good.astype(">u2"), TypeError, "it must be of"),
        (good.tolist(), TypeError, "is a list; it must be a numpy array"),
        (None, TypeError, "NoneType; it must be a numpy array"),
        (good[0], ValueError, "axes; it must have"),
        (np.asfortranarray(good), ValueError, "not in C order"),
        (good[..., ::2], ValueError, "not in C order"),
        (good.T, ValueError, "not in C order"),
    ]


def test_wrong_arrays_are_refused_and_the_world_stays():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (40, 40, 40), 2)
    before = world.digest()
    good = np.full((4, 5, 6), 8, np.uint8)
    for array, error, text in wrong_arrays(good):
        with pytest.raises(error, match=text):
            world.write((0, 0, 0), array)
        if array is not None:
            with pytest.raises(error, match=text):
                world.write((0, 0, 0), good, array)
            with pytest.raises(error, match=text):
                world.paste((0, 0, 0), array)
    with pytest.raises(ValueError, match=r"occupancy has the shape \[4, 5, 5\]"):
        world.write((0, 0, 0), good, good[:, :, :5].copy())
    with pytest.raises(ValueError, match="limits"):
        world.write((2**40, 0, 0), good)
    with pytest.raises(ValueError, match="material 256 does not exist"):
        world.fill_box((0, 0, 0), (1, 1, 1), 256)
    with pytest.raises(ValueError, match='no material "rok"; it has .*Rock'):
        world.fill_box((0, 0, 0), (1, 1, 1), "rok")
    assert world.digest() == before


def test_threads_read_while_one_writes():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (64, 64, 64), 2)
    errors, stop = [], threading.Event()

    def reader():
        while not stop.is_set():
            materials = np.unique(world.read((0, 0, 0), (64, 64, 64)).material)
            if len(materials) != 1:  # a half-written state
                errors.append(materials)

    threads = [threading.Thread(target=reader) for _ in range(3)]
    [thread.start() for thread in threads]
    for step in range(30):
        world.fill_box((0, 0, 0), (64, 64, 64), 2 + step % 5)
    stop.set()
    [thread.join() for thread in threads]
    assert not errors


def test_work_is_done_without_the_interpreter_lock():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (256, 128, 256), 8)
    progress, stop, interval = [], threading.Event(), sys.getswitchinterval()

    def count():
        while not stop.is_set():
            progress.append(None)
            time.sleep(0.0002)  # gives the lock away by itself

    thread = threading.Thread(target=count)
    thread.start()
    sys.setswitchinterval(100)  # nobody is made to give it away
    try:
        during = []
        for _ in range(20):
            before = len(progress)
            world.digest()
            during.append(len(progress) - before)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert max(during) > 0, "the other thread stood still"
