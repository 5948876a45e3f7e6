"""Ground from heights and distances."""

import numpy as np
import pytest

import terravox as tv

from test_cells import wrong_arrays


def hills(x0, z0, width, depth):
    z, x = np.mgrid[z0 : z0 + depth, x0 : x0 + width].astype(np.float64)
    return (12 + 7 * np.sin(x / 11) * np.cos(z / 17)).astype(np.float32)


def test_a_flat_height_fills_to_it_exactly():
    world = tv.World.memory(voxel_size_m=0.5)
    world.fill_heights(np.full((8, 8), 2.25, np.float32), bottom_m=0, material="rock")
    column = world.read((3, -2, 3), (4, 8, 4)).fraction()[:, 0, 0]
    assert column.tolist() == [0, 0, 1, 1, 1, 1, 0.5, 0, 0, 0]


def test_the_surface_lies_at_the_heights():
    world, heights = tv.World.memory(), hills(-40, -30, 80, 60)
    world.fill_heights(heights, at=(-40, -30), bottom_m=-8, material=2)
    inner = heights[5:-5, 5:-5]
    z, x = np.mgrid[-25:25, -35:35]
    origins = np.stack([x + 0.5, np.full(x.shape, 60.0), z + 0.5], -1).reshape(-1, 3)
    hits = world.rays(origins, [[0, -1, 0]])
    assert hits.hit.all()
    off = np.abs(hits.point_m[:, 1].reshape(inner.shape) - inner)
    assert off.max() < 0.25 and off.mean() < 0.03


def test_tiles_with_an_apron_make_the_world_of_one_array():
    whole, tiled = tv.World.memory(), tv.World.memory()
    heights = hills(-50, -70, 130, 110)
    materials = np.where(heights > 13, 8, 2).astype(np.uint8)
    layers = dict(bottom_m=-4.0, below=[(1.0, "ground"), (3.0, "rock")], sea_level_m=9.0)
    whole.fill_heights(heights[1:-1, 1:-1].copy(), at=(-49, -69), material="grass", **layers)
    # The borders of the whole array have no neighbours: compare what lies within.
    whole.fill_heights(heights, at=(-49, -69), material=materials, apron=1, **layers)
    rng = np.random.default_rng(5)
    cuts_x, cuts_z = [-49, -20, 3, 40, 79], [-69, -33, 0, 39]
    tiles = [(x, z) for x in range(4) for z in range(3)]
    rng.shuffle(tiles)
    for i, k in tiles:
        x0, x1, z0, z1 = cuts_x[i], cuts_x[i + 1], cuts_z[k], cuts_z[k + 1]
        part = np.s_[z0 + 69 : z1 + 71, x0 + 49 : x1 + 51]
        tiled.fill_heights(
            heights[part].copy(), at=(x0, z0), material=materials[part].copy(), apron=1, **layers
        )
    assert tiled.digest() == whole.digest()


def test_layers_and_the_sea_lie_where_they_should():
    world = tv.World.memory()
    heights = np.full((40, 40), 20.0, np.float32)
    heights[:, 20:] = 10.0
    world.fill_heights(
        heights,
        bottom_m=0,
        material="grass",
        below=[(2.0, "ground"), (6.0, "rock")],
        sea_level_m=15.0,
    )
    name = {m: i for i, m in enumerate(m.name.lower() for m in world.materials)}
    cells = world.read((0, 0, 0), (40, 24, 40)).material
    dry = cells[:, 20, 5].tolist()
    assert dry[18:20] == [name["grass"]] * 2 and dry[20:] == [0] * 4
    assert dry[14:18] == [name["ground"]] * 4 and dry[:14] == [name["rock"]] * 14
    wet = cells[:, 20, 35].tolist()
    assert wet[10:15] == [name["water"]] * 5 and wet[15:] == [0] * 9


def test_a_sea_needs_a_liquid():
    air, stone = tv.Material("air", kind="air"), tv.Material("stone")
    heights = np.full((8, 8), 3.0, np.float32)
    for materials, text in [([air], "that is not there"), ([air, stone], 'that is "stone", which is no liquid')]:
        world = tv.World.memory(materials=materials)
        with pytest.raises(ValueError, match=f"sea_level_m fills with material 1.*{text}"):
            world.fill_heights(heights, bottom_m=0, material=0, sea_level_m=5.0)
        assert world.chunks == 0
    world.fill_heights(heights, bottom_m=0, material="stone")


def test_only_the_box_is_replaced():
    world = tv.World.memory()
    world.fill_box((-10, -10, -10), (50, 50, 50), "rock")
    world.fill_heights(
        np.full((20, 20), 8.0, np.float32), at=(5, 5), bottom_m=2, top_m=30, material="grass"
    )
    cells = world.read((-10, -10, -10), (50, 50, 50)).material
    expected = np.full((60, 60, 60), world.material("rock"), np.uint8)
    expected[12:40, 15:35, 15:35] = 0
    expected[12:18, 15:35, 15:35] = world.material("grass")
    np.testing.assert_array_equal(cells, expected)


def test_distances_fill_by_the_share_of_each_cell():
    world = tv.World.memory(voxel_size_m=2.0)
    y, z, x = np.mgrid[-12:12, -12:12, -12:12] * 2.0 + 1.0  # centres, metres
    distances = (15 - np.sqrt(x * x + y * y + z * z)).astype(np.float32)
    world.fill_distances(distances, min=(-12, -12, -12), material="rock")
    fraction = world.read((-12, -12, -12), (12, 12, 12)).fraction()
    np.testing.assert_allclose(fraction, np.clip(0.5 + distances / 2, 0, 1), atol=1 / 256)
    volume = fraction.sum() * 8
    assert abs(volume / (4 / 3 * np.pi * 15**3) - 1) < 0.01
    hits = world.rays([[0, 40, 0]], [[0, -1, 0]])
    assert abs(hits.distance_m[0] - 25) < 0.1


def test_distances_of_many_materials_and_infinite_ones():
    world = tv.World.memory()
    distances = np.full((33, 34, 35), np.inf, np.float32)
    distances[20:] = -np.inf
    materials = np.broadcast_to(np.arange(35, dtype=np.uint8) % 3 + 2, distances.shape).copy()
    world.fill_distances(distances, min=(-3, -3, -3), material=materials)
    cells = world.read((-3, -3, -3), (32, 30, 31))
    np.testing.assert_array_equal(cells.material[:20], materials[:20])
    assert not cells.material[20:].any() and (cells.occupancy[:20] == 255).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_heights_that_are_no_numbers_are_refused(bad):
    world, heights = tv.World.memory(), hills(0, 0, 40, 30)
    world.fill_heights(heights, bottom_m=0, material=2)
    before = world.digest()
    heights[17, 23] = bad
    with pytest.raises(ValueError, match=r"heights\[17, 23\] is .* it must hold finite numbers"):
        world.fill_heights(heights, bottom_m=0, material=8)
    assert world.digest() == before


def test_distances_that_are_nan_are_refused():
    world = tv.World.memory()
    distances = np.zeros((4, 40, 40), np.float32)
    distances[3, 39, 39] = distances[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"distances\[1, 2, 3\] is NaN \(2 such values\)"):
        world.fill_distances(distances, min=(0, 0, 0), material=2)
    assert world.bounds is None


def test_wrong_arrays_are_refused_and_the_world_stays():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (40, 40, 40), 2)
    before = world.digest()
    heights = np.full((6, 8), 3.0, np.float32)
    arrays = wrong_arrays(heights) + [(heights.astype(np.float64), TypeError, "of float64")]
    for array, error, text in arrays:
        with pytest.raises(error, match=text):
            world.fill_heights(array, bottom_m=0, material=2)
        with pytest.raises((TypeError, ValueError)):
            world.fill_heights(heights, bottom_m=0, material=array)
    distances = np.full((4, 6, 8), 3.0, np.float32)
    for array, error, text in wrong_arrays(distances):
        with pytest.raises(error, match=text):
            world.fill_distances(array, min=(0, 0, 0), material=2)
    fill = lambda **given: world.fill_heights(heights, **{"bottom_m": 0, "material": 2, **given})
    for given, text in [
        (dict(bottom_m=np.nan), "bottom_m is NaN"),
        (dict(top_m=np.inf), "top_m is inf"),
        (dict(sea_level_m=np.nan), "sea_level_m is NaN"),
        (dict(apron=3), "have no columns"),
        (dict(below=[(2.0, 8), (1.0, 2)]), "ascend"),
        (dict(below=[(np.nan, 8)]), "ascend"),
        (dict(below=[(1.0, "no such")]), "no material"),
        (dict(at=(2**31, 0)), "limits"),
        (dict(bottom_m=-1e300), "limits"),
        (dict(material=np.zeros((3, 3), np.uint8)), "it must be that of heights"),
    ]:
        with pytest.raises(ValueError, match=text):
            fill(**given)
    assert world.digest() == before


def test_origins_and_sizes_of_voxels_count():
    far = tv.World.memory(voxel_size_m=0.25, origin_m=(1e6, 100.0, -1e6))
    near = tv.World.memory(voxel_size_m=0.25)
    heights = hills(0, 0, 50, 50) / 4
    near.fill_heights(heights, bottom_m=0, material=2)
    far.fill_heights(heights + np.float32(100), bottom_m=100, material=2)
    a, b = (w.read((0, 0, 0), (50, 24, 50)) for w in (near, far))
    np.testing.assert_array_equal(a.material, b.material)
    assert np.abs(a.occupancy.astype(int) - b.occupancy).max() <= 1  # heights of float32
