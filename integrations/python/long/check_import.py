#!/usr/bin/env python3
"""Imports one country with 1, 2 and 4 Dask workers, kills workers and the program at many moments, and
compares the digests with that of one array in one process. Prints dask_digest_differences, and adds it to a file, if
one is named, as terravox-bench reads it."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
IMPORT = ROOT / "examples" / "python" / "import_country.py"
DATA = Path(os.environ.get("TERRAVOX_REAL_DATA", ROOT.parent / "shared" / "data"))
DEM = DATA / "real" / "jacksboro_fault_dem.npz"
OPTIONS = ["--spacing", "30", "--voxel-size", "15", "--tile", "128", "--digest"]


def dem():
    """A real elevation model if there is one."""
    if DEM.exists():
        return str(DEM)
    print(f"{DEM} is not there: a synthetic country", flush=True)
    return "synthetic:400"


def start(target, *options):
    """Starts an import in a process group of its own, which dies as one."""
    command = [sys.executable, str(IMPORT), dem(), str(target), *OPTIONS, *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=target.parent,
    )


def finish(process):
    """Waits for an import; returns its digests."""
    out, errors = process.communicate(timeout=600)
    if process.returncode:
        raise SystemExit(f"the import failed: {out}\n{errors}")
    return {line.split()[0]: line.split()[1] for line in out.splitlines() if " of " in line}


def lines_until(process, word, count):
    """Reads lines until `count` begin with a word, or there are no more; returns those that do."""
    found = []
    for line in process.stdout:
        if line.startswith(word):
            found.append(line.split()[1:])
            if len(found) == count:
                break
    return found


def with_a_killed_worker(target, workers, after):
    """Kills a worker once some tiles were merged; the import must go on by itself."""
    process = start(target, "--workers", str(workers))
    pids = [int(pid) for pid in lines_until(process, "workers", 1)[0]]
    lines_until(process, "merged", after)
    assert not target.exists()
    os.kill(pids[0], signal.SIGKILL)
    return finish(process)


def with_a_killed_program(target, workers, rng, kills):
    """Kills the program with all its workers at random moments, and starts it again."""
    for _ in range(kills):
        process = start(target, "--workers", str(workers))
        lines_until(process, "merged", rng.randrange(1, 9))
        time.sleep(rng.random() * 0.05)  # anywhere within the next merge
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        # Nothing has the name of the world before all of it is there.
        assert not target.exists(), "the import was complete before it was killed"
    return finish(start(target, "--workers", str(workers)))


def main():
    rng = random.Random(int(os.environ.get("SEED", "1")))
    bake = ["--bake", "2"]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        began = time.perf_counter()
        whole = finish(start(folder / "whole.tvx", "--at-once", "--workers", "0", *bake))
        print("one array, one process", whole, f"{time.perf_counter() - began:.1f} s", flush=True)
        runs = [("tiles in one process", lambda target: finish(start(target, "--workers", "0", *bake)))]
        for workers in (1, 2, 4):
            options = ["--workers", str(workers), *bake]
            runs += [
                (f"{workers} workers", lambda target, o=options: finish(start(target, *o))),
                (
                    f"{workers} workers, one killed",
                    lambda target, w=workers: with_a_killed_worker(target, w, 3),
                ),
                (
                    f"{workers} workers, all killed 3 times",
                    lambda target, w=workers: with_a_killed_program(target, w, rng, 3),
                ),
            ]
        differences = 0
        for number, (name, run) in enumerate(runs):
            began = time.perf_counter()
            digests = run(folder / f"{number}.tvx")
            # Not every run bakes.
            same = digests["digest"] == whole["digest"] and digests.get("bake", "") in ("", whole["bake"])
            differences += not same
            seconds = time.perf_counter() - began
            print(f"{name}: {'the same' if same else digests} {seconds:.1f} s", flush=True)
        print(f"dask_digest_differences {differences} of {len(runs)} imports", flush=True)
        if len(sys.argv) > 1:
            note = f"of {len(runs)} imports: 1, 2 and 4 workers, undisturbed, one killed, and all killed 3 times"
            with open(sys.argv[1], "a") as file:
                print(json.dumps({"id": "dask_digest_differences", "value": differences, "note": note}), file=file)
        raise SystemExit(differences > 0)


if __name__ == "__main__":
    main()
