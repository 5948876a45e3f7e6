#!/usr/bin/env python3
"""Imports a large elevation model as a world, in tiles, on any number of Dask workers.

    import_country.py dem.npy country.tvx --spacing 30 --voxel-size 10 --workers 4
    import_country.py synthetic:2000 country.tvx --workers 0      # tiles in this process
    import_country.py synthetic:2000 country.tvx --at-once        # one array, no tiles

Each worker makes tiles and writes each to a world file of its own; this process alone merges them, as
they arrive, into the world. Whatever is killed, a worker or this program, start it again and it goes on:
tiles that are complete stay, the merged ones are noted in the world, and the world gets its name when
all are in it. The cells, and so the digest, depend on neither the number of workers nor the tiles.

The target may be the address of a database, if the package was built with the feature postgres:
it is then merged into that, and complete when this program says so. Its password may be in PGPASSWORD.

`--bake MIP` also writes a mesh of each tile at a coarse mip, for distant views, to country.bake/*.npz or the
folder `--bake-folder`, which a world in a database needs.
"""

import argparse
import functools
import hashlib
import json
import os
import shutil
import time
import urllib.parse
from pathlib import Path

import numpy as np

import terravox as tv

CHUNK = 32  # Voxels along the edge of a chunk: tiles of whole chunks have no chunk in common.
DEATHS = 10  # Workers that may end while they make one tile.


def is_database(target):
    """Whether a target is an address, not a path."""
    return "://" in target


def without_password(target):
    """The target, without the password that an address may have: that goes to the environment, which workers
    inherit. Messages have the target, and Dask logs the arguments of tasks that fail."""
    address = urllib.parse.urlsplit(target)
    user, _, host = address.netloc.rpartition("@")
    user, has_password, password = user.partition(":")
    if not (is_database(target) and has_password):
        return target
    os.environ["PGPASSWORD"] = urllib.parse.unquote(password)
    return urllib.parse.urlunsplit(address._replace(netloc=f"{user}@{host}"))


@functools.lru_cache(maxsize=1)
def open_dem(source):
    """The elevation model, metres, [z, x]: north first, as files have it. Not read until it is needed."""
    if source.startswith("synthetic:"):
        return synthetic(int(source.split(":")[1]))
    if source.endswith(".npz"):
        with np.load(source) as arrays:
            name = "elevation" if "elevation" in arrays else arrays.files[0]
            return arrays[name]
    return np.load(source, mmap_mode="r")


def synthetic(size):
    """Hills of several sizes, the same on every machine to the last digits."""
    z, x = np.mgrid[0:size, 0:size].astype(np.float64)
    heights = np.zeros((size, size))
    for octave in range(6):
        length, height = 200 / 1.9**octave, 120 / 2.1**octave
        turn = 0.7 * octave
        u, v = x * np.cos(turn) + z * np.sin(turn), z * np.cos(turn) - x * np.sin(turn)
        heights += height * np.sin(u / length) * np.cos(v / length)
    return heights.astype(np.float32)


class Plan:
    """What is imported and how: the same on every worker and in every attempt."""

    def __init__(self, source, dem, spacing_m, voxel_size_m, tile):
        self.source, self.spacing_m, self.voxel_size_m, self.tile = source, spacing_m, voxel_size_m, tile
        self.rows, self.columns = dem.shape
        # Of the same name, a model that was changed is another one.
        state = Path(source).stat() if Path(source).exists() else None
        self.changed = state and [state.st_size, state.st_mtime_ns]
        self.low = float(np.min(dem))
        if not (np.isfinite(self.low) and np.isfinite(np.max(dem))):
            raise SystemExit(f"{source}: has heights that are NaN or infinite; fill them first")
        # Voxels whose centres lie within the samples.
        self.width, self.depth = (
            int((n - 1) * spacing_m / voxel_size_m) for n in (self.columns, self.rows)
        )
        self.bottom_m = float(np.floor(self.low / voxel_size_m - 8) * voxel_size_m)

    def tiles(self):
        """All tiles: first column and row, one past the last."""
        for z in range(0, self.depth, self.tile):
            for x in range(0, self.width, self.tile):
                yield x, z, min(x + self.tile, self.width), min(z + self.tile, self.depth)

    def key(self):
        """Names this import: another one does not go on from it."""
        return hashlib.sha256(json.dumps(vars(self), sort_keys=True).encode()).hexdigest()[:16]

    def complete(self):
        """What a world of this import says once all of it is there, however it was made."""
        of = dict(source=self.source, changed=self.changed, spacing_m=self.spacing_m, voxel_size_m=self.voxel_size_m)
        return f"complete {json.dumps(of)}".encode()

    def heights(self, dem, x0, z0, x1, z1):
        """Heights at the centres of columns of voxels, between the samples around them, float32.

        Each depends on its column alone, so that tiles agree where they meet.
        """
        scale = self.voxel_size_m / self.spacing_m

        def between(first, last, samples):
            at = np.clip((np.arange(first, last) + 0.5) * scale, 0, samples - 1)
            low = np.minimum(at.astype(np.int64), samples - 2)
            return low, at - low

        (x, u), (z, v) = between(x0, x1, self.columns), between(z0, z1, self.rows)
        part = np.asarray(dem[z[0] : z[-1] + 2, x[0] : x[-1] + 2], np.float64)
        x, z, v = x - x[0], (z - z[0])[:, None], v[:, None]
        north = part[z, x] * (1 - u) + part[z, x + 1] * u
        south = part[z + 1, x] * (1 - u) + part[z + 1, x + 1] * u
        return (north * (1 - v) + south * v).astype(np.float32)

    def materials(self, world, heights):
        """Rock where it is steep, snow high up, else grass."""
        slope_z, slope_x = np.gradient(heights, self.voxel_size_m)
        materials = np.full(heights.shape, world.material("grass"), np.uint8)
        materials[heights > self.low + 600] = world.material("snow")
        materials[np.hypot(slope_z, slope_x) > 0.7] = world.material("rock")
        return materials

    def fill(self, world, dem, x0, z0, x1, z1):
        """Fills some columns of a world. With two more on each side: one gives slopes, one materials."""
        heights = self.heights(dem, x0 - 2, z0 - 2, x1 + 2, z1 + 2)
        world.fill_heights(
            heights,
            at=(x0, z0),
            apron=2,
            bottom_m=self.bottom_m,
            material=self.materials(world, heights),
            below=[(2.0, "ground"), (8.0, "rock")],
        )


def tile_path(folder, tile):
    return folder / f"{tile[0]}-{tile[1]}.tvx"


def make_tile(plan, folder, tile):
    """Makes a tile, on a worker. Its file has its name once it is complete."""
    path = tile_path(folder, tile)
    if not path.exists():
        partial = folder / f"{path.stem}.{os.getpid()}.partial.tvx"
        with tv.World.create(partial, voxel_size_m=plan.voxel_size_m, overwrite=True) as world:
            plan.fill(world, open_dem(plan.source), *tile)
        os.replace(partial, path)
    return tile


def bake_tile(plan, world_path, folder, mip, tile):
    """Meshes a tile of the finished world at a coarse mip, on a worker."""
    path = folder / f"{tile[0]}-{tile[1]}.npz"
    if not path.exists():
        ceil = lambda v: -(-v >> mip)
        with tv.World.open(world_path, read_only=True, load=False) as world:
            (_, low, _), (_, high, _) = world.bounds
            mesh = world.mesh(
                (tile[0] >> mip, low >> mip, tile[1] >> mip),
                (ceil(tile[2]), ceil(high), ceil(tile[3])),
                mip,
            )
        partial = folder / f"{path.stem}.{os.getpid()}.partial"
        with open(partial, "wb") as file:
            np.savez(
                file,
                vertices=mesh.vertices,
                normals=mesh.normals,
                triangles=mesh.triangles,
                materials=mesh.triangle_materials,
                origin_m=mesh.origin_m,
            )
        os.replace(partial, path)
    return tile


def on_workers(workers, function, tiles, arguments):
    """Calls `function` for each tile on `workers` processes; yields tiles as they are done."""
    if workers == 0:
        yield from (function(*arguments, tile) for tile in tiles)
        return
    import dask
    from distributed import Client, KilledWorker, LocalCluster, as_completed

    # Workers may be killed now and then. But one that takes more than its share of the memory is killed by Dask, and
    # so is the next one that tries.
    dask.config.set({"distributed.scheduler.allowed-failures": DEATHS})
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        pids = client.run(os.getpid).values()
        print("workers", *pids, flush=True)
        submit = functools.partial(client.submit, function, *arguments, pure=False, retries=3)
        futures = [submit(tile) for tile in tiles]
        for future in as_completed(futures):
            try:
                tile = future.result()
            except KilledWorker:
                raise SystemExit(
                    f"{DEATHS + 1} workers ended while they made one tile. If their memory ran out: start fewer "
                    "--workers, which have more each, and give the model as .npy, which is not loaded as a whole"
                ) from None
            yield tile
            future.release()


def open_target(plan, target):
    """The world that tiles are merged into: new, or of an earlier attempt."""
    # Its name comes last: a world of this name is complete.
    path = target if is_database(target) else f"{target}.importing"
    world = open_or_create(path, plan)
    note = world.data("import")
    if note is None and world.chunks == 0:  # New, perhaps of an attempt that was killed at once.
        note = plan.key().encode()
        world.set_data("import", note)
    if note not in (plan.key().encode(), plan.complete()):
        raise SystemExit(f"{world.path}: is of an import of something else; remove it to begin anew")
    return world, path


def check_complete(plan, target):
    """Refuses a world that is there already, unless it is what would be imported."""
    with tv.World.open(target, read_only=True, load=False) as world:
        note = world.data("import")
    if note != plan.complete():
        note = note.decode(errors="replace") if note else "not of an import"
        raise SystemExit(f"{target}: exists already, and is {note}; remove it or name another target")


def open_or_create(path, plan):
    """Opens a world; makes it if there is none."""
    until = time.monotonic() + 10
    while True:
        try:
            return tv.World.open(path, load=False)
        except FileNotFoundError:
            break
        except tv.WorldInUseError:
            # In a database the lease of a writer that was killed ends after some seconds.
            if not is_database(path) or time.monotonic() > until:
                raise
            time.sleep(0.2)
        except tv.NotAWorldError:
            if not is_database(path):
                raise
            break
    return tv.World.create(path, voxel_size_m=plan.voxel_size_m, load=False)


def tiles_folder(plan, target):
    """Where tiles are until they are merged: beside the target, or here, if that is a database, in a folder that no
    other target has."""
    name = hashlib.sha256(target.encode()).hexdigest()[:16] if is_database(target) else target
    return Path(f"{name}.tiles") / plan.key()


def import_tiles(plan, target, workers):
    """Makes all tiles and merges them."""
    world, path = open_target(plan, target)
    folder = tiles_folder(plan, target)
    folder.mkdir(parents=True, exist_ok=True)
    for partial in folder.glob("*.partial.tvx"):
        partial.unlink()  # Of a worker that was killed.
    tiles = list(plan.tiles())
    note = lambda tile: f"import/{tile[0]}-{tile[1]}"
    is_complete = world.data("import") == plan.complete()
    missing = [tile for tile in tiles if not is_complete and world.data(note(tile)) is None]
    print(f"{len(tiles)} tiles, {len(tiles) - len(missing)} done before", flush=True)
    with world:
        for tile in on_workers(workers, make_tile, missing, (plan, folder)):
            world.merge(tile_path(folder, tile))
            # Only now: a merge that was cut short is repeated, with the same end.
            world.set_data(note(tile), b"merged")
            tile_path(folder, tile).unlink()
            print("merged", *tile, flush=True)
        world.set_data("import", plan.complete())
        for tile in tiles:
            world.set_data(note(tile), None)
    if path != target:
        os.replace(path, target)
    shutil.rmtree(folder.parent)


def import_at_once(plan, target):
    """The same world of one array in one process, for comparison."""
    partial = f"{target}.at-once"
    with tv.World.create(partial, voxel_size_m=plan.voxel_size_m, overwrite=True) as world:
        plan.fill(world, open_dem(plan.source), 0, 0, plan.width, plan.depth)
        world.set_data("import", plan.complete())
    os.replace(partial, target)


def bake(plan, target, folder, mip, workers):
    """Meshes all tiles of the world; prints a digest of all."""
    folder.mkdir(parents=True, exist_ok=True)
    # Tiles that are there stay, so they have to be of this bake.
    note, this = folder / "bake.txt", f"{plan.key()} at mip {mip}\n"
    if any(folder.glob("*.npz")) and not (note.exists() and note.read_text() == this):
        raise SystemExit(f"{folder}: has meshes of another import or mip; remove them or name another --bake-folder")
    note.write_text(this)
    tiles = list(plan.tiles())
    arguments = (plan, target, folder, mip)
    for tile in on_workers(workers, bake_tile, tiles, arguments):
        print("baked", *tile, flush=True)
    digest, triangles = hashlib.sha256(), 0
    for tile in tiles:
        with np.load(folder / f"{tile[0]}-{tile[1]}.npz") as mesh:
            for name in sorted(mesh.files):
                digest.update(np.ascontiguousarray(mesh[name]).tobytes())
            triangles += len(mesh["triangles"])
    print(f"bake {digest.hexdigest()[:32]} of {triangles} triangles", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dem", help=".npy, .npz, or synthetic:SIZE; metres, [z, x]")
    parser.add_argument("target", help="the world: a .tvx file, or the address of a database")
    parser.add_argument("--spacing", type=float, default=30.0, help="metres between heights (30)")
    parser.add_argument("--voxel-size", type=float, default=10.0, help="metres (10)")
    parser.add_argument("--tile", type=int, default=512, help="voxels along a tile (512)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="0: all in this process")
    parser.add_argument("--at-once", action="store_true", help="one array in one process, no tiles")
    parser.add_argument("--bake", type=int, metavar="MIP", help="write meshes of this mip, too")
    parser.add_argument("--bake-folder", type=Path, help="where to (the target with .bake)")
    parser.add_argument("--digest", action="store_true", help="print a hash of all cells, which are loaded for it")
    options = parser.parse_args()
    if options.bake is not None and options.bake_folder is None and is_database(options.target):
        parser.error("--bake of a world in a database needs --bake-folder")
    if options.at_once and is_database(options.target):
        parser.error("--at-once makes a file, which has its name once it is complete")
    options.target = without_password(options.target)
    if options.tile <= 0 or options.tile % CHUNK:
        raise SystemExit(f"a tile has {options.tile} voxels; it must be a multiple of {CHUNK}")
    if options.bake is not None and options.tile % (CHUNK << options.bake):
        raise SystemExit(f"tiles of {options.tile} voxels have no whole blocks of mip {options.bake}")
    plan = Plan(options.dem, open_dem(options.dem), options.spacing, options.voxel_size, options.tile)
    if not is_database(options.target) and Path(options.target).exists():
        check_complete(plan, options.target)
    elif options.at_once:
        import_at_once(plan, options.target)
    else:
        import_tiles(plan, options.target, options.workers)
    if options.bake is not None:
        folder = options.bake_folder or Path(f"{options.target}.bake")
        bake(plan, options.target, folder, options.bake, options.workers)
    with tv.World.open(options.target, read_only=True, load=False) as world:
        print(f"complete: {world.chunks} chunks", flush=True)
        if options.digest:
            print(f"digest {world.digest()} of {world.chunks} chunks", flush=True)


if __name__ == "__main__":
    main()
