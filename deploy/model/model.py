#!/usr/bin/env python3
"""A model of one world on many servers: where guests are is simulated, what that costs is computed from unit costs
that were measured (costs.json, docs/benchmarks.md) or assumed, and compared with what parts can carry.

    deploy/model/model.py                              prints the tables
    deploy/model/model.py --update docs/scale.md       writes them between its marks, and the picture beside it

Needs numpy. The seed is fixed: each run gives the same.
"""
import argparse
import heapq
import json
import math
import pathlib
from dataclasses import dataclass, fields, replace

import numpy as np

HERE = pathlib.Path(__file__).parent
COLUMN = 8192  # voxels
STEP_S = 10.0
STEPS = 8
IDLE_STEPS = 6  # a column that was not edited for 60 s is released
MEASURED = json.loads((HERE / "costs.json").read_text())


def cpu_us(name):
    return MEASURED[name]["cpu_us"]


def slope(low, high, key):
    """What one more record of a commit costs."""
    (low_count, low_name), (high_count, high_name) = low, high
    return (MEASURED[high_name][key] - MEASURED[low_name][key]) / (high_count - low_count)


ONE, THREE, TWELVE = [(n, f"commit_{n}_record{'s' if n > 1 else ''}_16_servers") for n in (1, 3, 12)]


@dataclass(frozen=True)
class Costs:
    """Unit costs. Each has its source: measured, counted, set in the program, or assumed."""
    # Measured by measure.py: processor time of PostgreSQL.
    poll_us: float = cpu_us("poll_1_column")
    poll_column_us: float = max(0.0, (cpu_us("poll_64_columns") - cpu_us("poll_1_column")) / 63)
    log_us: float = cpu_us("log_of_2_columns")
    read_us: float = cpu_us("read_3_records")
    owners_us: float = cpu_us("owners_of_8_columns")
    owner_row_us: float = cpu_us("owners_of_all_8000_columns") / 8000
    renewal_us: float = cpu_us("renewal")
    commit_us: float = cpu_us("commit_3_records_64_servers") - 3 * slope(ONE, TWELVE, "cpu_us")
    record_us: float = slope(ONE, TWELVE, "cpu_us")
    commit_wal: float = MEASURED[ONE[1]]["wal_bytes"] - slope(ONE, TWELVE, "wal_bytes")
    record_wal: float = slope(ONE, TWELVE, "wal_bytes")
    # Counted from docs/format.md: a dig of radius 4 lies in so many chunks and blocks of mips 1 to 4, on average. The
    # blocks of mips 5 to 8 over it are shared by the strokes of a save; see records_of.
    records: float = sum((1 + 8 / (32 * 2 ** mip)) ** 3 for mip in range(5))
    # Measured: docs/benchmarks.md and docs/online.md.
    commit_ms: float = 4.0
    op_bytes: float = 22.6
    pose_bytes: float = 15.0
    join_bytes: float = 172 * 1024.0
    strokes_held: float = 390.0  # a second: those of 200 clients, 7,790 in 20 s
    # Set in the program.
    near_polls: float = 50.0
    far_polls: float = 5.0
    owners_looks: float = 2.0
    all_owners_looks: float = 0.2
    renewals: float = 1.0
    save_pause_ms: float = 20.0
    poses: float = 20.0
    columns_held: float = 256.0
    # Assumed: what a server keeps open, what guests do, and what machines carry.
    connections: float = 3.0
    strokes: float = 0.2  # a second and guest
    moving: float = 0.5  # share of guests
    joins: float = 1 / 1800  # a second and guest
    primary_cores: float = 32 * 0.7
    primary_wal_bytes: float = 500e6
    primary_connections: float = 5000.0
    server_bytes: float = 10e9 / 8 * 0.7
    guest_bytes: float = 1e6


# Those that a row of the table doubles: costs, not limits.
DOUBLED = {
    "poll_us": "a poll, µs", "log_us": "reading the log of two columns, µs", "read_us": "reading three records, µs",
    "owner_row_us": "a row of who has which column, µs", "renewal_us": "a renewal, µs", "commit_us": "a commit, µs",
    "record_us": "a record of a commit, µs", "record_wal": "log of a record, bytes",
    "connections": "connections of a server", "records": "records of a stroke, to mip 4",
    "op_bytes": "an operation, bytes", "pose_bytes": "a pose, bytes", "strokes": "strokes of a guest, a second"}


@dataclass(frozen=True)
class World:
    servers: int
    guests_per_server: int = 1000
    columns_per_server: int = 8
    towns_per_server: int = 2
    crowd: float = 0.5  # the n-th largest town draws n^-crowd
    in_towns: float = 0.8
    town_voxels: float = 1500.0  # standard deviation
    speed: float = 12.0  # voxels a second
    near_voxels: float = 100.0  # seen at mip 0
    view_voxels: float = 1024.0
    seed: int = 1

    @property
    def side(self):
        return max(2, round(math.sqrt(self.servers * self.columns_per_server)))


@dataclass
class Step:
    """What each server has at a moment."""
    guests: np.ndarray
    columns: np.ndarray  # held
    near: np.ndarray  # columns of others that guests see at mip 0
    watched: np.ndarray  # columns of others that guests see, or beside those that are held
    near_strokes_of: np.ndarray  # guests in the near columns of others, summed
    receivers: np.ndarray  # for each guest the others that see its ground at mip 0, summed
    most_receivers: float
    hottest: int  # guests of one column
    crossings: int  # guests that came into a column of another server
    owners: int  # columns that a server has


class Simulation:
    """Guests wander about towns; a column goes to the server with fewest guests when it is edited first, and is
    kept until nobody was there for a minute. A guest is at the server of its column."""

    def __init__(self, world):
        self.world = world
        self.random = np.random.default_rng(world.seed)
        count = world.servers * world.guests_per_server
        extent = world.side * COLUMN
        towns = self.random.random((max(1, world.servers * world.towns_per_server), 2)) * extent
        weights = np.arange(1, len(towns) + 1) ** -world.crowd
        town = self.random.choice(len(towns), count, p=weights / weights.sum())
        spread = self.random.normal(0, world.town_voxels, (count, 2))
        alone = self.random.random(count) >= world.in_towns
        self.home = np.where(alone[:, None], self.random.random((count, 2)) * extent, towns[town] + spread)
        self.home = np.clip(self.home, 0, extent - 1)
        self.at = self.home.copy()
        self.owner = np.full(world.side ** 2, -1)
        self.idle = np.zeros(world.side ** 2, dtype=int)
        self.server = None

    def column(self, at):
        cell = np.clip(at // COLUMN, 0, self.world.side - 1).astype(np.int64)
        return cell[:, 0] * self.world.side + cell[:, 1]

    def move(self):
        angle = self.random.random(len(self.at)) * 2 * math.pi
        step = np.stack([np.cos(angle), np.sin(angle)], 1) * self.world.speed * STEP_S
        self.at = np.clip(self.at + step + 0.05 * (self.home - self.at), 0, self.world.side * COLUMN - 1)

    def assign(self, present):
        self.idle = np.where(present > 0, 0, self.idle + 1)
        self.owner[self.idle >= IDLE_STEPS] = -1
        load = np.bincount(self.owner[self.owner >= 0], present[self.owner >= 0], minlength=self.world.servers)
        free = np.flatnonzero((self.owner < 0) & (present > 0))
        queue = [(guests, server) for server, guests in enumerate(load)]
        heapq.heapify(queue)
        for column in free[np.argsort(-present[free], kind="stable")]:
            guests, server = heapq.heappop(queue)
            self.owner[column] = server
            heapq.heappush(queue, (guests + present[column], server))

    def foreign(self, column, server, distance):
        """Pairs of a server and a column of others that one of its guests sees within a distance."""
        pairs = []
        inside = self.at % COLUMN
        beside = ((inside < distance) | (inside > COLUMN - distance)).any(axis=1)
        at, column, server = self.at[beside], column[beside], server[beside]
        for shift in ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
            seen = self.column(at + np.array(shift) * distance)
            other = (seen != column) & (self.owner[seen] != server)
            pairs.append(np.unique(server[other] * self.world.side ** 2 + seen[other]))
        return np.unique(np.concatenate(pairs))

    def beside(self):
        """Pairs of a server and a column of others beside one that it has."""
        side, held = self.world.side, np.flatnonzero(self.owner >= 0)
        pairs = []
        for dx in (-1, 0, 1):
            for dz in (-1, 0, 1):
                x, z = held // side + dx, held % side + dz
                inside = (x >= 0) & (x < side) & (z >= 0) & (z < side)
                seen, server = (x * side + z)[inside], self.owner[held[inside]]
                other = self.owner[seen] != server
                pairs.append(server[other] * side ** 2 + seen[other])
        return np.unique(np.concatenate(pairs))

    def receivers(self):
        """For each guest, the others within sight at mip 0: those in the nine cells around, by area."""
        edge = self.world.near_voxels
        width = int(self.world.side * COLUMN // edge) + 3
        cell = (self.at // edge).astype(np.int64) + 1
        number = cell[:, 0] * width + cell[:, 1]
        cells, where, counts = np.unique(number, return_inverse=True, return_counts=True)
        around = np.zeros(len(cells))
        for dx in (-1, 0, 1):
            for dz in (-1, 0, 1):
                other = cells + dx * width + dz
                found = np.searchsorted(cells, other).clip(0, len(cells) - 1)
                around += np.where(cells[found] == other, counts[found], 0)
        return (around[where] - 1) * math.pi / 9

    def step(self):
        side, servers = self.world.side, self.world.servers
        if self.server is not None:
            self.move()
        column = self.column(self.at)
        present = np.bincount(column, minlength=side ** 2)
        self.assign(present)
        server = self.owner[column]
        crossings = 0 if self.server is None else int((server != self.server).sum())
        self.server = server
        near = self.foreign(column, server, self.world.near_voxels)
        watched = np.union1d(self.foreign(column, server, self.world.view_voxels), self.beside())
        receivers = self.receivers()

        def by_server(pairs, weights=None):
            return np.bincount(pairs // side ** 2, weights, minlength=servers)

        return Step(guests=np.bincount(server, minlength=servers),
                    columns=np.bincount(self.owner[self.owner >= 0], minlength=servers),
                    near=by_server(near), watched=by_server(watched),
                    near_strokes_of=by_server(near, present[near % side ** 2]),
                    receivers=np.bincount(server, receivers, minlength=servers),
                    most_receivers=float(receivers.max()), hottest=int(present.max()), crossings=crossings,
                    owners=int((self.owner >= 0).sum()))


def simulate(world, steps=STEPS):
    simulation = Simulation(world)
    return [simulation.step() for _ in range(steps)]


def commits_of(strokes, costs):
    """Saves a second of servers with strokes a second: one follows the other after a pause."""
    busy_s = (costs.save_pause_ms + costs.commit_ms) / 1000
    return strokes / (1 + strokes * busy_s)


def records_of(strokes, commits, columns, costs):
    """Records that servers write a second: for each stroke those of fine mips, and for each save the blocks of mips
    5 to 8 that its strokes lie in, which are spread over the columns of the server."""
    in_save = strokes / np.maximum(commits, 1e-9)
    coarse = 0
    for mip in range(5, 9):
        blocks = np.maximum(1, columns) * 4.0 ** (8 - mip)
        coarse = coarse + blocks * (1 - (1 - 1 / blocks) ** in_save)
    return strokes * costs.records + commits * coarse


def database(step, costs):
    """What all servers ask of the database: statements a second by kind, processor time, bytes of log a second."""
    strokes = step.guests * costs.strokes
    commits = commits_of(strokes, costs)
    polls = np.where(step.near > 0, costs.near_polls, costs.far_polls)
    # One of five or so asks about all that is watched.
    asked = np.where(step.near > 0, step.near + (costs.far_polls / costs.near_polls) * step.watched, step.watched)
    # Polls that find something: the near columns of others were edited since.
    found = polls * (1 - np.exp(-step.near_strokes_of * costs.strokes / np.maximum(polls, 1)))
    servers, records = len(step.guests), records_of(strokes, commits, step.columns, costs)
    cpu = {
        "polls": (polls * (costs.poll_us + (np.maximum(asked, 1) - 1) * costs.poll_column_us)).sum(),
        "reading what others saved": (found * (costs.log_us + costs.read_us)).sum(),
        "who has which column": servers * (costs.owners_looks * costs.owners_us
                                           + costs.all_owners_looks * step.owners * costs.owner_row_us),
        "renewals": servers * costs.renewals * costs.renewal_us,
        "saves": (commits * costs.commit_us + records * costs.record_us).sum(),
    }
    statements = (polls.sum() + 2 * found.sum() + servers * (costs.owners_looks + costs.all_owners_looks)
                  + 3 * servers * costs.renewals + 7 * commits.sum())
    wal = (commits * costs.commit_wal + records * costs.record_wal).sum()
    return {"statements": float(statements), "commits": float(commits.sum()), "records": float(records.sum()), "polls": float(polls.sum()),
            "cores": {kind: float(us) / 1e6 for kind, us in cpu.items()}, "wal": float(wal)}


def use(step, costs):
    """Each part's share of what it can carry; above 1 it breaks."""
    asked = database(step, costs)
    servers = len(step.guests)
    one = costs.strokes * costs.op_bytes + costs.moving * costs.poses * costs.pose_bytes
    out = step.receivers * one + step.guests * costs.joins * costs.join_bytes
    return {
        "database: processor": sum(asked["cores"].values()) / costs.primary_cores,
        "database: log to disk": asked["wal"] / costs.primary_wal_bytes,
        "database: connections": servers * costs.connections / costs.primary_connections,
        "hottest column: strokes": step.hottest * costs.strokes / costs.strokes_held,
        "fullest server: strokes": float(step.guests.max()) * costs.strokes / costs.strokes_held,
        "fullest server: columns": float(step.columns.max()) / costs.columns_held,
        "fullest server: bytes out": float(out.max()) / costs.server_bytes,
        "most crowded guest: bytes in": step.most_receivers * one / costs.guest_bytes,
    }


def worst(steps, costs):
    """The largest shares of all moments."""
    shares = [use(step, costs) for step in steps]
    return {part: max(share[part] for share in shares) for part in shares[0]}


def primaries(shares):
    """How many databases carry it, if the world is spread over them evenly."""
    return max(1, math.ceil(max(share for part, share in shares.items() if part.startswith("database"))))


def breaks_at(sizes, shares):
    """The number of servers from which a part is beyond what it can carry, between the simulated sizes by powers."""
    for i, share in enumerate(shares):
        if share < 1:
            continue
        if i == 0:
            return sizes[0]
        low, high = math.log(shares[i - 1]), math.log(share)
        x0, x1 = math.log(sizes[i - 1]), math.log(sizes[i])
        return math.exp(x0 + (x1 - x0) * (0 - low) / (high - low))
    return None


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def servers_text(at):
    return "–" if at is None else f"{float(f'{at:.2g}'):,.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


SIZES = [1, 3, 10, 30, 100, 300, 1000]


def report(sizes, crowds):
    """The tables as Markdown, and the shares of the middle crowd for the picture."""
    costs = Costs()
    runs = {crowd: [simulate(World(servers=size, crowd=crowd)) for size in sizes] for crowd in crowds}
    middle = runs[crowds[len(crowds) // 2]]
    shares = [worst(steps, costs) for steps in middle]
    last = middle[-1][-1]
    asked = database(last, costs)
    demand = [["servers, guests", f"{len(last.guests):,}, {last.guests.sum():,}"],
              ["columns in use; most guests in one", f"{last.owners:,}; {last.hottest:,}"],
              ["guests that cross to another server", f"{max(s.crossings for s in middle[-1]) / STEP_S:,.0f} a second"],
              ["servers with guests at a border", f"{(last.near > 0).sum():,}"],
              ["statements", f"{asked['statements']:,.0f} a second"],
              ["of these polls; transactions that save", f"{asked['polls']:,.0f}; {asked['commits']:,.0f} a second"],
              ["records written", f"{asked['records']:,.0f} a second"],
              ["log of the database", f"{asked['wal'] / 1e6:,.0f} MB/s"]]
    demand += [[f"processor time for {kind}", f"{cores:.1f} cores"] for kind, cores in asked["cores"].items()]
    parts = list(shares[0])
    sweep = [[part] + [number(share[part]) for share in shares]
             + [servers_text(breaks_at(sizes, [share[part] for share in shares]))] for part in parts]
    crowded = []
    for crowd in crowds:
        by_size = [worst(steps, costs) for steps in runs[crowd]]
        found = {part: breaks_at(sizes, [share[part] for share in by_size]) for part in parts}
        first = sorted((at, part) for part, at in found.items() if at is not None)
        crowded.append([number(crowd), f"{runs[crowd][-1][-1].hottest:,}",
                        "; ".join(f"{part} ({servers_text(at)})" for at, part in first[:3]) or "nothing",
                        str(primaries(by_size[-1]))])
    doubled = []
    for name in [None, *DOUBLED]:
        other = costs if name is None else replace(costs, **{name: 2 * getattr(costs, name)})
        by_size = [worst(steps, other) for steps in middle]
        found = [(breaks_at(sizes, [share[part] for share in by_size]), part) for part in parts]
        at, part = min((at, part) for at, part in found if at is not None)
        first_of_database = min((at for at, part in found if at is not None and part.startswith("database")), default=None)
        doubled.append([DOUBLED.get(name, "nothing"), number(getattr(costs, name)) if name else "–",
                        f"{part} ({servers_text(at)})", servers_text(first_of_database)]
                       + [number(by_size[-1][f"database: {what}"]) for what in ("processor", "log to disk", "connections")]
                       + [number(by_size[-1]["fullest server: bytes out"]), str(primaries(by_size[-1]))])
    text = "\n\n".join([
        table(["at the largest size", ""], demand),
        "Shares of what a part carries, by the number of servers; above 1 it breaks:\n\n"
        + table(["part"] + [f"{size:,}" for size in sizes] + ["breaks at"], sweep),
        "By how guests crowd (the n-th largest town draws n to the power of minus this), with the servers at which it breaks:\n\n"
        + table(["crowd", "guests in the hottest column", "breaks first", "databases"], crowded),
        "If one unit cost doubles (shares at the largest size):\n\n"
        + table(["doubled", "is", "breaks first", "the database breaks at", "processor", "log to disk", "connections", "bytes out",
                 "databases"], doubled)])
    return text, {part: [share[part] for share in shares] for part in parts}


COLOURS = ["#1f5fa8", "#4fa3d1", "#9bc9e8", "#c0392b", "#e08a1e", "#b8a13a", "#3a8f5c", "#7b6b9c"]


def picture(sizes, shares):
    """Lines of the shares over the number of servers, both by powers of ten, as SVG."""
    left, top, width, height, low, high = 70, 20, 560, 360, -3.0, 1.5

    def x(size):
        return left + width * math.log10(size / sizes[0]) / math.log10(sizes[-1] / sizes[0])

    def y(share):
        return top + height * (high - min(max(math.log10(max(share, 1e-9)), low), high)) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 440" font-family="sans-serif" font-size="13">',
           '<rect width="900" height="440" fill="white"/>',
           f'<rect x="{left}" y="{top}" width="{width}" height="{y(1) - top:.1f}" fill="#f7e3e0"/>']
    for power in range(-3, 2):
        out.append(f'<path d="M{left} {y(10.0 ** power):.1f}h{width}" stroke="{"#a00" if power == 0 else "#ddd"}"/>')
        out.append(f'<text x="{left - 8}" y="{y(10.0 ** power) + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for size in sizes:
        out.append(f'<path d="M{x(size):.1f} {top}v{height}" stroke="#eee"/>')
        out.append(f'<text x="{x(size):.1f}" y="{top + height + 18}" text-anchor="middle">{size:,}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">servers, 1,000 guests each</text>')
    out.append(f'<text x="{left + 6}" y="{top + 16}" fill="#a00">share of what it carries: above 1 it breaks</text>')
    order = sorted(shares, key=lambda part: -shares[part][-1])
    for i, (part, values) in enumerate((part, shares[part]) for part in order):
        points = " ".join(f"{x(size):.1f},{y(share):.1f}" for size, share in zip(sizes, values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="2.5"/>')
        at = top + 14 + 24 * i
        out.append(f'<path d="M{left + width + 16} {at - 4}h18" stroke="{COLOURS[i]}" stroke-width="3"/>')
        out.append(f'<text x="{left + width + 40}" y="{at}">{part}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


BEGIN, END = "<!-- begin model -->", "<!-- end model -->"


def main():
    parser = argparse.ArgumentParser(description="A model of one world on many servers.")
    parser.add_argument("--update", type=pathlib.Path, help="the document that gets the tables, and pictures/cluster-model.svg beside it")
    arguments = parser.parse_args()
    text, shares = report(SIZES, [0.0, 0.5, 1.0])
    print(text)
    if arguments.update:
        document = arguments.update.read_text()
        head, rest = document.split(BEGIN)
        arguments.update.write_text(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])
        (arguments.update.parent / "pictures" / "cluster-model.svg").write_text(picture(SIZES, shares))


if __name__ == "__main__":
    main()
