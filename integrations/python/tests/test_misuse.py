"""Every method with arguments that make no sense: named errors, no bug comes through, the world stays."""

import inspect
import random

import numpy as np
import pytest

import terravox as tv

NUMBERS = [0, 1, -1, 2, 9, 255, 256, 2**31, -(2**31), 2**63, -(2**63), 10**30, True]
REALS = [0.5, -0.0, 1e-320, 1e300, -1e300, float("nan"), float("inf"), -float("inf")]
OTHERS = [None, "", "rock", "no such", b"rock", [], (), {}, object(), int, "postgres://x"]


def vector(rng):
    """A point or voxel that may be anywhere, also nowhere."""
    return tuple(rng.choice([0, 1, -3, 33, *rng.choices(NUMBERS + REALS, k=2)]) for _ in range(3))


def array(rng):
    kinds = [np.uint8, np.float32, np.float64, np.int32, np.int64, bool, complex, object, "S4", "M8[s]"]
    shape = tuple(rng.choice([0, 1, 2, 3, 7, 40]) for _ in range(rng.randrange(5)))
    made = np.zeros(shape, rng.choice(kinds[:2] * 4 + kinds))
    if made.dtype.kind == "f" and made.size:
        with np.errstate(all="ignore"):
            made[...] = rng.choice(REALS)
    return rng.choice([made, made, made.T, made[..., ::2] if made.ndim else made, made[::-1] if made.ndim else made])


def brush(rng):
    makers = [
        lambda: tv.Brush.ball(vector(rng), rng.choice(REALS + [3.0])),
        lambda: tv.Brush.box(vector(rng), vector(rng)),
        lambda: tv.Brush.cylinder(vector(rng), rng.choice(REALS), rng.choice([2.0, *REALS]), (0, 0, 0, 0)),
        lambda: tv.Brush.path(np.full((rng.choice([0, 1, 5000]), 3), rng.choice(REALS)), 2.0),
        lambda: tv.Brush.mesh(np.full((4, 3), rng.choice(REALS)), [(0, 1, rng.choice([0, 2, 9, -1, 2**40]))]),
        lambda: tv.Brush.heights(vector(rng), rng.choice(REALS), np.full((2, 3), rng.choice(REALS))),
    ]
    return rng.choice(makers)()


def anything(rng, name):
    """An argument: most of the kind that its name asks for, with senseless values."""
    fitting = {
        "brush": brush,
        "mask": lambda rng: tv.Mask(
            materials=[rng.choice([0, 255, 300, "x", "rock"])], slope=(rng.choice(REALS), 1.0)
        ),
        "out": lambda rng: tv.World.memory().read((0, 0, 0), (2, 3, 4)),
    }
    vectors = {"min", "max", "to", "point", "normal", "origin_m", "at"}
    arrays = {"material", "occupancy", "heights", "distances", "origins", "directions"}
    roll = rng.random()
    if roll < 0.6 and name in fitting:
        return fitting[name](rng)
    if roll < 0.7 and name in vectors:
        return vector(rng)
    if roll < 0.6 and name in arrays:
        return array(rng)
    return rng.choice([rng.choice(NUMBERS), rng.choice(REALS), rng.choice(OTHERS), vector(rng), array(rng)])


@pytest.mark.filterwarnings("ignore")  # of NumPy, which converts what can be converted
@pytest.mark.parametrize("seed", range(4))
def test_nonsense_is_refused_by_name(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    world = tv.World.memory()
    world.fill_box((-8, -8, -8), (8, 0, 8), "rock")
    skipped = {"close", "save_as", "create", "open"}
    methods = [n for n in dir(tv.World) if not n.startswith("_") and callable(getattr(tv.World, n))]
    calls, refused, digest = 0, 0, world.digest()
    for _ in range(1500):
        name = rng.choice([name for name in methods if name not in skipped])
        method = getattr(world, name)
        parameters = list(inspect.signature(method).parameters.values())
        needed = [p for p in parameters if p.default is p.empty or rng.random() < 0.3]
        try:
            given = {p.name: anything(rng, p.name) for p in needed}
        except (ValueError, TypeError, OverflowError):
            continue  # No such brush.
        calls += 1
        try:
            method(**given)
        except tv.InternalError:
            raise
        except (ValueError, TypeError, OverflowError, OSError, tv.WorldError) as error:
            refused += 1
            assert str(error), name
            assert world.digest() == digest, f"{name} failed and changed the world: {error}"
        else:
            digest = world.digest()
            if world.chunks > 4000:  # It filled much, as it may.
                world = tv.World.memory()
                digest = world.digest()
    assert calls > 1000 and refused > calls / 3
    # Whatever happened, the world works.
    world.fill_box((0, 0, 0), (4, 4, 4), "grass")
    assert (world.read((0, 0, 0), (4, 4, 4)).material == world.material("grass")).all()


def test_repeated_rays_are_refused_before_they_take_memory():
    many = np.broadcast_to(np.array([[0.0, -1.0, 0.0]]), (10**11, 3))
    with tv.World.memory() as world:
        for origins, directions in [(many, many), (many, [(0, -1, 0)]), ([(0, 9, 0)], many)]:
            with pytest.raises(ValueError, match=r"100000000000 rows; a call takes 4194304 \(2\^22\)"):
                world.rays(origins, directions)


def repeated(kind, width=3):
    """An array of 10^11 rows that takes no memory."""
    return np.broadcast_to(np.zeros((1, width), kind), (10**11, width))


# float32 and int32 would also be converted whole.
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32])
def test_repeated_arrays_make_no_brush_and_take_no_memory(kind):
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for make, text in [
        (lambda: tv.Brush.path(repeated(kind), 1), r"points has 100000000000 rows; a path takes 4096"),
        (lambda: tv.Brush.mesh(repeated(kind), [(0, 1, 2)]), r"vertices has 100000000000 rows"),
        (lambda: tv.Brush.mesh(corners, repeated(np.int32)), r"triangles has 100000000000 rows.*1048576"),
        (lambda: tv.Brush.heights((0, 0, 0), 1, repeated(kind)), r"\[100000000000, 3\].*67108864"),
        (lambda: tv.Brush.heights((0, 0, 0), 1, repeated(kind, 0).T), r"\[0, 100000000000\]"),
        (lambda: tv.World.memory().rays(repeated(kind), [(0, 1, 0)]), r"origins has 100000000000 rows"),
    ]:
        with pytest.raises(ValueError, match=text):
            make()


def test_as_much_as_a_brush_takes_makes_one():
    assert "4096 points" in repr(tv.Brush.path(np.zeros((4096, 3)), 1))
    with pytest.raises(ValueError, match="4097 rows"):
        tv.Brush.path(np.zeros((4097, 3)), 1)
    wide = np.broadcast_to(np.float32(1), (1 << 13, 1 << 13))
    assert "67108864 samples" in repr(tv.Brush.heights((0, 0, 0), 1, wide))


def test_long_sequences_are_refused_before_they_take_memory():
    many = range(10**12)
    world = tv.World.memory()
    for call in [
        lambda: tv.Mask(materials=many),
        lambda: tv.World.memory(materials=many),
        lambda: tv.World.create("never.tvx", materials=many),
        lambda: world.fill_heights(np.ones((2, 2), np.float32), bottom_m=0, material=8, below=many),
    ]:
        with pytest.raises(ValueError, match="has 1000000000000 entries; at most"):
            call()
    with pytest.raises(TypeError):
        tv.Mask(materials=3)


def test_indices_are_integers_and_points_numbers():
    corners = np.array([(0, 0, 0), (8, 0, 0), (0, 8, 0), (0, 0, 8)], np.float64)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    expected = tv.Brush.mesh(corners, faces)
    for kind in [np.uint8, np.int32, np.uint32, np.int64, ">i4"]:
        assert tv.Brush.mesh(corners, np.array(faces, kind)) == expected
    for kind in [np.float32, ">f8", np.int16]:
        assert tv.Brush.mesh(corners.astype(kind), faces) == expected
    for wrong in [np.array(faces) + 0.9, np.array(faces, np.float64), np.array(faces, bool), [("0", "1", "2")]]:
        with pytest.raises(TypeError, match="triangles is an array of .*; it must be of integers"):
            tv.Brush.mesh(corners, wrong)
    for wrong in [corners.astype(complex), corners.astype(str), corners.astype(object), [[None] * 3]]:
        with pytest.raises(TypeError, match="vertices is an array of .*; it must be of numbers"):
            tv.Brush.mesh(wrong, faces)
        with pytest.raises(TypeError, match="origins is an array of .*; it must be of numbers"):
            tv.World.memory().rays(wrong, [(0, 1, 0)])
    for index in (-1, 4, 2**40):
        with pytest.raises(ValueError, match=f"has the index {index}, and there are 4 vertices"):
            tv.Brush.mesh(corners, [(0, 1, index)])
    with pytest.raises(ValueError, match="axes; it must have 2"):
        tv.Brush.path(corners[0], 1)
    with pytest.raises(ValueError, match=r"has the shape \[3, 4\]; it must be \(n, 3\)"):
        tv.Brush.path(corners.T, 1)


def test_masked_arrays_are_refused():
    world = tv.World.memory()
    heights = np.ma.masked_less(np.float32([[1, -9999], [3, 5]]), 0)
    points = np.ma.masked_less(np.zeros((2, 3)), 1)
    for call in [
        lambda: world.fill_heights(heights, bottom_m=0, material=8),
        lambda: world.write((0, 0, 0), np.ma.zeros((2, 2, 2), np.uint8)),
        lambda: world.rays(points, [(0, 1, 0)]),
        lambda: tv.Brush.path(points, 1),
        lambda: tv.Brush.heights((0, 0, 0), 1, heights),
    ]:
        with pytest.raises(TypeError, match=r"(\w+) is a masked array.*: \1\.filled"):
            call()
    assert world.chunks == 0
    world.fill_heights(heights.filled(0), bottom_m=0, material=8)
    other = type("Other", (np.ndarray,), {})
    world.fill_heights(heights.filled(0).view(other), bottom_m=0, material=8)


def misaligned(array):
    """The same array, in memory that begins at an odd address, and as a field of packed records."""
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    offset = np.frombuffer(buffer.data, array.dtype, array.size, offset=1).reshape(array.shape)
    offset[...] = array
    records = np.zeros(array.shape, np.dtype([("value", array.dtype), ("pad", np.uint8)]))
    records["value"] = array
    assert not offset.flags.aligned and not records["value"].flags.aligned
    return [offset, records["value"]]


def test_misaligned_arrays_are_copied_or_refused():
    points = np.random.default_rng(5).uniform(-9, 9, (40, 3))
    world = tv.World.memory()
    world.fill_box((-9, -9, -9), (9, 0, 9), "rock")
    origins, down = points + (0, 20, 0), np.array([(0.0, -1.0, 0.0)])
    expected = world.rays(origins, down)
    for odd in misaligned(points):
        assert tv.Brush.path(odd, 1) == tv.Brush.path(points, 1)
    for odd, odd_down in zip(misaligned(origins), misaligned(down)):
        np.testing.assert_array_equal(world.rays(odd, odd_down).distance_m, expected.distance_m)
    heights = np.float32([[1, 2], [3, 5]])
    for odd in misaligned(heights):
        assert tv.Brush.heights((0, 0, 0), 1, odd) == tv.Brush.heights((0, 0, 0), 1, heights)
    # Those that are read in place are not copied in silence.
    digest = world.digest()
    with pytest.raises(ValueError, match=r"heights is not aligned in memory: heights.copy\(\)"):
        world.fill_heights(misaligned(heights)[0], bottom_m=0, material=8)
    cells = np.full((2, 2, 2), 8, np.uint8)
    with pytest.raises(ValueError, match="water_index is not aligned"):
        index = misaligned(np.int64([3, 4]))[0]
        world.write((0, 0, 0), cells, water_index=index, water=np.uint8([9, 9]))
    assert world.digest() == digest


@pytest.mark.parametrize("at", [(2**63 - 1, 0), (0, 2**63 - 1), (-(2**63), 0), (2**30 - 1, -(2**30))])
def test_heights_far_out_are_refused_by_name(at):
    heights = np.full((5, 5), 3.0, np.float32)
    with tv.World.memory() as world:
        for apron in (0, 1):
            with pytest.raises(ValueError, match="is not within the limits of a world"):
                world.fill_heights(heights, bottom_m=0.0, at=at, material=8, apron=apron)
        assert world.digest() == tv.World.memory().digest()


def test_numbers_that_do_not_fit_are_value_errors():
    world, heights, cells = tv.World.memory(), np.ones((5, 5), np.float32), np.zeros((2, 2, 2), np.uint8)
    fill = lambda **given: world.fill_heights(heights, **{"bottom_m": 0, "material": 8, **given})
    ball, corner, far = tv.Brush.ball((0, 0, 0), 2), (1, 1, 1), (2**63, 0, 0)
    limits = r"9223372036854775808, 0, 0\); it must be within the limits of a world, ±1073741824"
    for call, text in [
        (lambda: world.read((0, 0, 0), corner, -1), "mip is -1; it must be 0 to 8"),
        (lambda: world.read((0, 0, 0), corner, 9), "mip is 9; it must be 0 to 8"),
        (lambda: world.read((0, 0, 0), corner, 300), "mip is 300; it must be 0 to 8"),
        (lambda: world.mesh((0, 0, 0), corner, 2**70), "mip is 1180591620717411303424; it must be 0 to 8"),
        (lambda: world.read(far, corner), limits),
        (lambda: world.mesh((0, 0, 0), far), limits),
        (lambda: world.write(far, cells), limits),
        (lambda: world.paste(far, cells), limits),
        (lambda: world.fill_box((0, 0, 0), far, 8), limits),
        (lambda: world.copy((0, 0, 0), corner, far), limits),
        (lambda: world.fill_distances(heights[None], min=far, material=8), limits),
        (lambda: fill(at=(2**63, 0)), "at is .*; it must be within the limits of a world"),
        (lambda: fill(apron=-1), "apron is -1; it must be 0 or more"),
        (lambda: fill(material=2**70), "material 1180591620717411303424 does not exist; ids are 0 to 255"),
        (lambda: world.fill_box((0, 0, 0), corner, -1), "material -1 does not exist; ids are 0 to 255"),
        (lambda: tv.Material("x", colour=(300, 0, 0)), r"colour is \(300, 0, 0\); it must be .* 0 to 255"),
        (lambda: world.roughen(ball, 1, 1, seed=-1), "seed is -1; it must be 0 to 18446744073709551615"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    for given, kind in [(None, "NoneType"), (1.5, "float"), ([8], "list")]:
        with pytest.raises(TypeError, match=f"material is a {kind}; it must be an id, a name, or a numpy array"):
            fill(material=given)
    with pytest.raises(TypeError, match="a material is a float; it must be an id or a name"):
        world.fill_box((0, 0, 0), corner, 1.5)
    assert world.chunks == 0
    fill(material=np.uint8(8), apron=np.int64(1), at=(np.int64(3), 4))
    assert world.roughen(ball, 1, 1, seed=2**64 - 1) and world.chunks
