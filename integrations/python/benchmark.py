#!/usr/bin/env python3
"""Figures of the Python package: scripts/test-python bench. One process, one thread, medians. Adds those that
docs/benchmarks.md has to a file, if one is named, as terravox-bench reads them."""

import json
import statistics
import sys
import time

import numpy as np

import terravox as tv


def hills(size):
    """A world of hills with layers, `size` voxels wide, and its heights."""
    z, x = np.mgrid[0:size, 0:size].astype(np.float64)
    heights = (64 + 40 * np.sin(x / 61) * np.cos(z / 73) + 5 * np.sin(x / 7 + z / 9)).astype(np.float32)
    world = tv.World.memory()
    world.fill_heights(heights, bottom_m=0, material="grass", below=[(1.0, "ground"), (4.0, "rock")])
    return world, heights


def seconds(call, rounds):
    """Median seconds of a call."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main():
    size, height, rounds = 512, 128, 15
    world, heights = hills(size)
    low, high = (0, 0, 0), (size, height, size)
    cells = world.read(low, high)
    count = cells.material.size
    data = cells.material.nbytes + cells.occupancy.nbytes
    values = {}

    def row(name, value, unit):
        values[name] = value
        print(f"{name} {value:.4g} {unit}", flush=True)

    row("py_region_gb_s", data / seconds(lambda: world.read(low, high), rounds) / 1e9, "GB/s")
    reused = seconds(lambda: world.read(low, high, out=cells), rounds)
    row("py_region_reused_gb_s", data / reused / 1e9, "GB/s")
    copy = np.empty_like(cells.material), np.empty_like(cells.occupancy)

    def copied():
        np.copyto(copy[0], cells.material)
        np.copyto(copy[1], cells.occupancy)

    row("numpy_copy_gb_s", data / seconds(copied, rounds) / 1e9, "GB/s")
    fresh = seconds(lambda: (cells.material.copy(), cells.occupancy.copy()), rounds)
    row("numpy_fresh_copy_gb_s", data / fresh / 1e9, "GB/s")
    small = seconds(lambda: world.read((100, 60, 100), (132, 92, 132)), 400)
    row("py_chunk_us", small * 1e6, "us")
    mip = seconds(lambda: world.read((0, 0, 0), (size >> 2, height >> 2, size >> 2), 2), rounds)
    row("py_region_mip_2_gb_s", data / 64 / mip / 1e9, "GB/s")
    target = tv.World.memory()
    write = seconds(lambda: target.write(low, cells.material, cells.occupancy), 5)
    row("py_write_gb_s", data / write / 1e9, "GB/s")

    def fill():
        tv.World.memory().fill_heights(
            heights, bottom_m=0, material="grass", below=[(1.0, "ground"), (4.0, "rock")]
        )

    row("py_heights_mcolumns_s", heights.size / seconds(fill, 5) / 1e6, "M columns/s")
    distances = (heights[:256, :256] - np.arange(height, dtype=np.float32)[:, None, None]).copy()
    fields = lambda: tv.World.memory().fill_distances(distances, min=(0, 0, 0), material="rock")
    row("py_distances_mcells_s", distances.size / seconds(fields, 5) / 1e6, "M cells/s")
    mesh = world.mesh(low, high)
    meshed = seconds(lambda: world.mesh(low, high), 3)
    row("py_mesh_mtriangles_s", len(mesh.triangles) / meshed / 1e6, "M triangles/s")
    rng = np.random.default_rng(1)
    origins = np.full((100_000, 3), 150.0)
    origins[:, [0, 2]] = rng.uniform(10, size - 10, (len(origins), 2))
    down = np.array([[0.3, -1.0, 0.2]])
    world.rays(origins, down)
    row("py_rays_m_s", len(origins) / seconds(lambda: world.rays(origins, down), 5) / 1e6, "M rays/s")
    print(f"{count} cells, numpy {np.__version__}, Python {sys.version.split()[0]}")
    if len(sys.argv) > 1:
        note = (
            f"median of {rounds}, {size} x {height} x {size} voxels into new arrays; into the same arrays "
            f"{values['py_region_reused_gb_s']:.1f}; NumPy copies such arrays at "
            f"{values['numpy_fresh_copy_gb_s']:.1f} and {values['numpy_copy_gb_s']:.1f}"
        )
        with open(sys.argv[1], "a") as file:
            print(json.dumps({"id": "py_region_gb_s", "value": values["py_region_gb_s"], "note": note}), file=file)


if __name__ == "__main__":
    main()
