"""Edits, meshes and rays."""

import numpy as np
import pytest

import terravox as tv


@pytest.fixture
def world():
    world = tv.World.memory()
    world.fill_box((-32, -32, -32), (32, 0, 32), "rock")
    return world


def test_a_dig_takes_the_volume_of_its_brush(world):
    dug = world.dig(tv.Brush.ball((0, -12, 0), 8))
    assert list(dug.removed) == [world.material("rock")] and not dug.added
    assert abs(dug.removed[world.material("rock")] / (4 / 3 * np.pi * 8**3) - 1) < 0.01
    assert dug.region == ([-8, -20, -8], [8, -4, 8])
    assert "removed" in repr(dug)


def test_volumes_are_cubic_metres():
    world = tv.World.memory(voxel_size_m=0.5)
    built = world.fill(tv.Brush.box((0, 0, 0), (2, 3, 4)), "rock")
    assert abs(built.added[world.material("rock")] - 4 * 6 * 8) < 0.5


def test_every_action_and_shape_is_undone(world):
    ball, digest = tv.Brush.ball((1, 0, 2), 6), world.digest()
    half_turn = (0, 0.7071, 0, 0.7071)
    actions = [
        lambda: world.dig(ball, falloff_m=2, strength=0.7),
        lambda: world.fill(tv.Brush.cylinder((3, 2, 3), 3, 5), "grass"),
        lambda: world.fill(tv.Brush.wedge((3, 2, 3), (3, 2, 4), half_turn), 2),
        lambda: world.fill(tv.Brush.box((3, 2, 3), (3, 2, 4), half_turn), 2),
        lambda: world.fill(tv.Brush.capsule((-9, 2, -9), (9, 5, 9), 2), "sand"),
        lambda: world.fill(tv.Brush.path([(-9, 2, -9), (0, 5, 0), (9, 2, 0)], 2), "sand"),
        lambda: world.fill(tv.Brush.heights((-5, -1, -5), 1, np.full((9, 9), 4.5)), "grass"),
        lambda: world.paint(ball, "grass", mask=tv.Mask(slope=(0, 0.5))),
        lambda: world.replace(ball, "rock", "ground"),
        lambda: world.roughen(ball, 0.8, 4, seed=9),
        lambda: world.smooth(ball),
        lambda: world.flatten(ball, (0, 1, 0), material="sand"),
        lambda: world.grow(ball, 0.5),
        lambda: world.erode(ball, 0.5, mask=tv.Mask(heights_m=(-3, 3), materials=["rock", 2])),
        lambda: world.flood(tv.Brush.ball((0, 3, 0), 4), "water"),
        lambda: world.drain(tv.Brush.ball((0, 3, 0), 9)),
        lambda: world.copy((-8, -8, -8), (8, 0, 8), (0, 3, 0)),
        lambda: world.paste((0, 5, 0), np.full((3, 4, 5), 8, np.uint8)),
    ]
    digests = [digest]
    for action in actions:
        if action() and world.digest() != digests[-1]:
            digests.append(world.digest())
    assert len(digests) > 14
    for expected in reversed(digests[:-1]):
        while world.digest() != expected:
            assert world.undo() is not None
    assert world.digest() == digest
    while world.redo():
        pass
    assert world.digest() == digests[-1]


def test_a_stroke_is_undone_as_one(world):
    before = world.digest()
    world.begin_stroke()
    for x in range(-10, 11, 5):
        world.dig(tv.Brush.ball((x, 0, 0), 4))
    world.end_stroke()
    assert world.undo() is not None
    assert world.digest() == before and world.undo() is None


def test_mesh_brushes(world):
    vertices = np.array([(0, 0, 0), (8, 0, 0), (0, 8, 0), (0, 0, 8)], float)
    triangles = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    built = world.fill(tv.Brush.mesh(vertices, triangles), "sand")
    assert abs(built.added[world.material("sand")] - 8**3 / 6) < 4
    with pytest.raises(ValueError, match="not closed"):
        world.fill(tv.Brush.mesh(vertices, triangles[:3]), "sand")
    with pytest.raises(ValueError, match="index -1"):
        tv.Brush.mesh(vertices, [(0, 1, -1)])
    with pytest.raises(ValueError, match="index"):
        world.fill(tv.Brush.mesh(vertices, [(0, 1, 9)]), "sand")


@pytest.mark.parametrize(
    "edit, text",
    [
        (lambda w: w.dig(tv.Brush.ball((0, 0, np.nan), 3)), "is NaN"),
        (lambda w: w.dig(tv.Brush.ball((0, 0, 0), -1)), "radius is -1"),
        (lambda w: w.dig(tv.Brush.ball((0, 0, 0), 1e9)), "limits|costs?|voxels"),
        (lambda w: w.dig(tv.Brush.ball((2**30, 0, 0), 9)), "limits|2\\^30"),
        (lambda w: w.dig(tv.Brush.ball((0, 0, 0), 3), strength=2), "strength is 2"),
        (lambda w: w.dig(tv.Brush.ball((0, 0, 0), 3), falloff_m=np.inf), "falloff"),
        (lambda w: w.fill(tv.Brush.ball((0, 0, 0), 3), 0), "air cannot be filled"),
        (lambda w: w.fill(tv.Brush.ball((0, 0, 0), 3), "gold"), "no material"),
        (lambda w: w.paint(tv.Brush.ball((0, 0, 0), 3), "water"), "not a solid"),
        (lambda w: w.flood(tv.Brush.ball((0, 0, 0), 3), "rock"), "not a liquid"),
        (lambda w: w.flatten(tv.Brush.ball((0, 0, 0), 3), (0, 0, 0), (0, 0, 0)), "normal"),
        (lambda w: w.fill(tv.Brush.path(np.zeros((0, 3)), 1), 8), "number of points"),
        (lambda w: w.fill(tv.Brush.heights((0, 0, 0), 1, np.zeros((1, 1))), 8), "full rows"),
        (lambda w: w.copy((0, 0, 0), (0, 0, 0), (9, 9, 9)), "empty"),
        (lambda w: w.copy((0, 0, 0), (1, 1, 1), (2**30, 0, 0)), "limits"),
        (lambda w: w.dig(tv.Brush.ball((0, 0, 0), 3), mask=tv.Mask(slope=(1, 0))), "lower first"),
        (lambda w: w.paste((0, 0, 0), np.zeros((0, 1, 1), np.uint8)), "paste takes 1 to"),
    ],
)
def test_bad_edits_are_refused_and_the_world_stays(world, edit, text):
    before = world.digest()
    with pytest.raises(ValueError, match=text):
        edit(world)
    assert world.digest() == before and world.undo() is None


def is_closed(triangles):
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forward = {tuple(edge) for edge in edges.tolist()}
    return len(forward) == len(edges) and all((b, a) in forward for a, b in forward)


def test_a_mesh_is_closed_and_of_the_right_size():
    world = tv.World.memory(voxel_size_m=0.5)
    world.fill(tv.Brush.ball((1, 2, 3), 15), "rock")  # spans many blocks
    mesh = world.mesh((-40, -40, -40), (48, 48, 48))
    assert is_closed(mesh.triangles)
    points = mesh.vertices + np.array(mesh.origin_m)
    radius = np.linalg.norm(points - (1, 2, 3), axis=1)
    assert abs(radius - 15).max() < 0.1
    outward = ((points - (1, 2, 3)) * mesh.normals).sum(axis=1) / radius
    assert outward.min() > 0.95
    a, b, c = (points[mesh.triangles[:, i]] - (1, 2, 3) for i in range(3))
    volume = (np.cross(a, b) * c).sum() / 6  # positive: counter-clockwise from outside
    assert abs(volume / (4 / 3 * np.pi * 15**3) - 1) < 0.01
    assert (mesh.triangle_materials == world.material("rock")).all()
    assert mesh.weights.sum(axis=1).tolist() == [255] * len(points)
    assert "triangles" in repr(mesh)


def test_coarse_meshes_keep_the_shape():
    world = tv.World.memory()
    world.fill(tv.Brush.ball((0, 0, 0), 30), "rock")
    fine, coarse = world.mesh((-64,) * 3, (64,) * 3), world.mesh((-16,) * 3, (16,) * 3, 2)
    assert len(coarse.triangles) < len(fine.triangles) / 10 and is_closed(coarse.triangles)
    points = coarse.vertices + np.array(coarse.origin_m)
    assert abs(np.linalg.norm(points, axis=1) - 30).max() < 2


def test_the_surface_of_water():
    world = tv.World.memory()
    world.fill_box((0, 0, 0), (32, 4, 32), "rock")
    world.fill_box((4, 2, 4), (28, 4, 28), "water")
    mesh = world.mesh((0, 0, 0), (32, 8, 32), surface="liquid")
    assert len(mesh.triangles) > 500
    assert (mesh.triangle_materials == world.material("water")).all()
    with pytest.raises(ValueError, match='"solid" or "liquid"'):
        world.mesh((0, 0, 0), (1, 1, 1), surface="gas")
    assert len(world.mesh((100, 0, 0), (132, 8, 32)).triangles) == 0
    assert len(world.mesh((0, 0, 0), (0, 0, 0)).vertices) == 0


def test_meshes_of_a_file_are_those_of_memory(tmp_path):
    path = tmp_path / "ball.tvx"
    with tv.World.create(path) as world:
        world.fill(tv.Brush.ball((0, 0, 0), 20), "rock")
        meshes = [world.mesh((-32 >> m,) * 3, (32 >> m,) * 3, m) for m in range(4)]
    with tv.World.open(path, load=False) as stored:
        for mip, mesh in enumerate(meshes):
            same = stored.mesh((-32 >> mip,) * 3, (32 >> mip,) * 3, mip)
            np.testing.assert_array_equal(same.vertices, mesh.vertices)
            np.testing.assert_array_equal(same.triangles, mesh.triangles)
        with pytest.raises(tv.WorldError, match="load=False"):
            stored.mesh((0, 0, 0), (8, 8, 8), surface="liquid")


def test_rays_hit_what_is_there(world):
    world.fill_box((-4, 0, -4), (4, 2, 4), "water")
    origins = [(0.5, 10, 0.5), (20.5, 10, 0.5), (0.5, 10, 0.5)]
    hits = world.rays(origins, [(0, -2, 0), (0, -1, 0), (0, 1, 0)])
    assert len(hits) == 3 and hits.hit.tolist() == [True, True, False]
    np.testing.assert_allclose(hits.distance_m[:2], 10, atol=1e-3)
    np.testing.assert_allclose(hits.point_m[1], (20.5, 0, 0.5), atol=1e-3)
    np.testing.assert_allclose(hits.normal[:2], [(0, 1, 0)] * 2, atol=1e-3)
    assert hits.material.tolist() == [world.material("rock")] * 2 + [0]
    assert hits.voxel[1].tolist() == [20, -1, 0]
    assert np.isinf(hits.distance_m[2]) and np.isnan(hits.point_m[2]).all()
    both = world.rays(origins[:1], [(0, -1, 0)], surface="both")
    assert both.material[0] == world.material("water") and abs(both.distance_m[0] - 8) < 0.1
    assert not world.rays(origins[:1], [(0, -1, 0)], 5).hit.any()
    assert len(world.rays(np.zeros((0, 3)), [(0, 1, 0)])) == 0
    # Of any length, also beyond what a float32 holds.
    for length in (5e-324, 1e-60, 1e39, 1e308):
        assert world.rays(origins[:1], [(0, -length, 0)]).hit.all()
    slanted = world.rays(origins[:1], [(0.1, -1, 0.2)])
    for length in (1e-60, 1e39):
        far = world.rays(origins[:1], np.array([(0.1, -1, 0.2)]) * length)
        np.testing.assert_allclose(far.point_m, slanted.point_m, atol=1e-5)


@pytest.mark.parametrize(
    "origins, directions, given, text",
    [
        ([(0, np.nan, 0)], [(0, 1, 0)], {}, r"origins\[0\] is .* finite"),
        ([(0, 0, 0)], [(0, np.inf, 0)], {}, r"directions\[0\]"),
        ([(0, 0, 0)] * 2, [(0, 1, 0), (0, 0, 0)], {}, r"directions\[1\] is zero"),
        ([(0, 0, 0)] * 3, [(0, 1, 0)] * 2, {}, "3 origins and 2 directions"),
        ([(0, 0)], [(0, 1, 0)], {}, r"\(n, 3\)"),
        ([(0, 0, 0)], [(0, 1, 0)], {"max_distance_m": np.nan}, "max_distance_m"),
        ([(0, 0, 0)], [(0, 1, 0)], {"surface": "x"}, "surface"),
    ],
)
def test_bad_rays_are_refused(world, origins, directions, given, text):
    with pytest.raises(ValueError, match=text):
        world.rays(origins, directions, **given)
