#!/usr/bin/env python3
"""Imports a country with Dask into a PostgreSQL that this program starts, kills the import three times,
and compares the digest with that of one array in one process. Prints dask_postgres_differences."""

import glob
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_import import finish, lines_until, start

import terravox as tv

ORDINARY_ID = 65534  # PostgreSQL refuses to run as root.
WORD = secrets.token_hex(16)


def programs():
    """The folder of the programs of PostgreSQL; None if there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    found += [path for path in [shutil.which("initdb")] if path]
    return Path(found[0]).parent if found else None


def ordinary():
    """Arguments of subprocess for an ordinary user."""
    return {"user": ORDINARY_ID, "group": ORDINARY_ID, "extra_groups": []} if os.getuid() == 0 else {}


class Server:
    """A PostgreSQL in a temporary folder, on a port of this machine."""

    def __init__(self, bin_folder):
        self.folder = Path(tempfile.mkdtemp(prefix="terravox-python-"))
        word = self.folder / "word"
        word.write_text(WORD)  # In a folder that only its owner can open.
        if os.getuid() == 0:
            for path in (self.folder, word):
                os.chown(path, ORDINARY_ID, ORDINARY_ID)
        data = self.folder / "data"
        initdb = [bin_folder / "initdb", "--no-sync", "--auth=scram-sha-256", "-U", "terravox"]
        initdb += ["--encoding=UTF8", "-D", data, f"--pwfile={word}"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **ordinary())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories="]
        command = [bin_folder / "postgres", "-D", data]
        command += [part for option in options for part in ("-c", option)]
        self.child = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd="/", **ordinary())

    def address(self, world):
        return f"postgres://terravox:{WORD}@127.0.0.1:{self.port}/postgres#{world}"

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        self.child.wait()
        shutil.rmtree(self.folder)


def wait_for(address):
    """Waits until the server takes connections."""
    for _ in range(100):
        try:
            return tv.World.create(address, load=False).close()
        except (tv.WorldError, OSError) as error:
            last = error
            time.sleep(0.1)
    raise last


class Target(str):
    """An address where `start` of check_import expects a path."""

    parent = None


def main():
    bin_folder = programs()
    if bin_folder is None:
        print("SKIPPED: no PostgreSQL on this machine; apt-get install postgresql", file=sys.stderr)
        return
    rng, server = random.Random(1), Server(bin_folder)
    try:
        wait_for(server.address("first"))
        with tempfile.TemporaryDirectory() as folder:
            whole = finish(start(Path(folder) / "whole.tvx", "--at-once", "--workers", "0"))
            target = Target(server.address("country"))
            target.parent = folder
            for _ in range(3):
                process = start(target, "--workers", "2")
                lines_until(process, "merged", rng.randrange(1, 9))
                time.sleep(rng.random() * 0.05)
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            imported = finish(start(target, "--workers", "2"))
            print(imported, whole, flush=True)
            print(f"dask_postgres_differences {int(imported != whole)} of 1 import", flush=True)
            raise SystemExit(imported != whole)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
