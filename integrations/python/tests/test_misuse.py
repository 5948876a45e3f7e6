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


@pytest.mark.parametrize("at", [(2**63 - 1, 0), (0, 2**63 - 1), (-(2**63), 0), (2**30 - 1, -(2**30))])
def test_heights_far_out_are_refused_by_name(at):
    heights = np.full((5, 5), 3.0, np.float32)
    with tv.World.memory() as world:
        for apron in (0, 1):
            with pytest.raises(ValueError, match="is not within the limits of a world"):
                world.fill_heights(heights, bottom_m=0.0, at=at, material=8, apron=apron)
        assert world.digest() == tv.World.memory().digest()
