#!/usr/bin/env python3
"""Measures what a shared world costs its database, by statement, in processor time of PostgreSQL: the unit costs of
model.py. Starts a PostgreSQL of its own with default settings in a temporary folder, fills it like a large world,
and runs the statements of crates/terravox-postgres (share.rs, writer.rs) with pgbench.

    deploy/model/measure.py [SECONDS] > deploy/model/costs.json
"""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
COLUMNS = 8000
SERVERS = 1000
RECORDS_PER_COLUMN = 8
RECORD_BYTES = 2390
BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
TICKS = os.sysconf("SC_CLK_TCK")

SCHEMA = f"""
create table terravox_zones (world bigint not null, zone bigint not null, epoch bigint not null, head bigint not null,
    owner text not null, until timestamptz not null, primary key (world, zone));
create table terravox_records (world bigint not null, key bytea not null, hash bigint not null, value bytea not null,
    primary key (world, key));
create table terravox_log (world bigint not null, zone bigint not null, seq bigint not null, epoch bigint not null,
    keys bytea not null, primary key (world, zone, seq));
create table terravox_servers (world bigint not null, owner text not null, address text not null,
    until timestamptz not null, primary key (world, owner));
insert into terravox_zones select 1, -1, 1, 0, 'several servers', now() + interval '1 day';
insert into terravox_zones select 1, -1 - n, 1, 0, 'server ' || n % {SERVERS}, now() + interval '1 day'
    from generate_series(1, {COLUMNS}) n;
insert into terravox_servers select 1, 'server ' || n, 'dig' || n || '.example.org:4077', now() + interval '1 day'
    from generate_series(0, {SERVERS} - 1) n;
insert into terravox_servers select 1, 'address dig' || n || '.example.org:4077', 'server ' || n, now() + interval '1 day'
    from generate_series(0, {SERVERS} - 1) n;
with one as (select string_agg(int8send((random() * 9e18)::bigint), ''::bytea) as value
    from generate_series(1, {RECORD_BYTES} / 8))
insert into terravox_records select 1, int4send(c) || int4send(r), 0, value
    from one, generate_series(1, {COLUMNS}) c, generate_series(1, {RECORDS_PER_COLUMN}) r;
vacuum analyze;
"""


def numbers(count):
    """A random array of columns that lie side by side, for pgbench; one whose length the planner does not know."""
    return f"\\set c random(1, {COLUMNS - 100})\n", "('{" + ",".join(f"-' || :c::bigint + {i + 1} || '" for i in range(count)) + "}')::bigint[]"


def poll(count):
    head, array = numbers(count)
    return head + f"select zone, head from terravox_zones where world = 1 and owner <> 'server 1' and zone = any({array});\n"


OWNERS = """select held.zone, held.epoch, server.address, server.until >= clock_timestamp(), held.owner = 'server 1'
    from terravox_zones as held join terravox_servers as server
        on server.world = held.world and server.owner = held.owner
    where held.world = 1 and held.zone {} order by held.zone desc;
"""
RENEW = f"""\\set s random(0, {SERVERS - 1})
update terravox_servers set until = clock_timestamp() + 3 * interval '1 second'
    where world = 1 and (owner = 'server ' || :s or owner = 'address dig' || :s || '.example.org:4077' and address = 'server ' || :s);
update terravox_zones set until = clock_timestamp() + interval '3 second'
    where world = 1 and zone = -1 and epoch = 1 and until < clock_timestamp() + interval '2100 milliseconds';
select zone from terravox_zones where world = 1
    and (zone = -1 and epoch = 1 or zone = any(array[-2 - :s,-1002 - :s,-2002 - :s]::bigint[]) and owner = 'server ' || :s);
"""
LOG_PARTS = """\\set c random(2, 17)
\\set seq random(1, 100)
select seq, epoch, keys, zone from (
    select log.seq, log.epoch, log.keys, log.zone,
        sum(length(log.keys)) over (partition by log.zone order by log.seq desc) as bytes
    from terravox_log as log
    join unnest(array[0 - :c::bigint, -1 - :c::bigint], array[:seq, :seq]::bigint[], array[:seq + 1, :seq + 1]::bigint[]) as part(zone, low, high)
        on log.zone = part.zone
    where log.world = 1 and log.seq > part.low and log.seq + least(log.epoch, -1) < part.high) as entry
    where bytes <= 16777216 order by zone, seq;
"""
READ = f"""\\set c random(1, {COLUMNS})
select key, hash, value from terravox_records
    where world = 1 and key = any(array[int4send(:c::int) || int4send(1), int4send(:c::int) || int4send(2), int4send(:c::int) || int4send(3)]);
"""


def commit(records, holds):
    """A save of some records of one column. Each client has a column of its own, as a server has."""
    hold = "select zone from terravox_zones where world = 1 and zone = -1 and epoch = 1 for key share;\n" if holds else ""
    keys = ",".join(f"int4send(:client_id + 1) || int4send({i + 1})" for i in range(records))
    value = "'\\x" + random.Random(1).randbytes(RECORD_BYTES).hex() + "'::bytea"
    return f"""begin;
set local idle_in_transaction_session_timeout = 3000;
update terravox_zones set head = terravox_zones.head + 1, until = clock_timestamp() + 3 * interval '1 second'
    from unnest(array[-2 - :client_id]::bigint[], array[1]::bigint[]) as held(zone, epoch)
    where terravox_zones.world = 1 and terravox_zones.zone = held.zone and terravox_zones.epoch = held.epoch
    returning head \\gset
insert into terravox_records (world, key, hash, value) select 1, new.key, 0, overlay({value} placing int8send(:head) from 9)
    from unnest(array[{keys}]::bytea[]) as new(key)
    on conflict (world, key) do update set hash = excluded.hash, value = excluded.value;
insert into terravox_log (world, zone, seq, epoch, keys) values (1, -2 - :client_id, :head, 1, '\\x{'00' * 20 * records}');
{hold}commit;
"""


class Postgres:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = self.folder.name
        self.as_user = []
        if os.getuid() == 0:
            os.chown(path, 65534, 65534)
            self.as_user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        subprocess.run(self.as_user + [f"{BIN}/initdb", "--auth=trust", "-U", "me", "-D", f"{path}/data"], check=True,
                       stdout=subprocess.DEVNULL, cwd="/")
        self.server = subprocess.Popen(
            self.as_user + [f"{BIN}/postgres", "-D", f"{path}/data", "-c", "listen_addresses=", "-k", path,
                            "-c", "max_connections=300", "-c", "autovacuum=off"],
            stderr=subprocess.DEVNULL, cwd="/")
        while subprocess.run([f"{BIN}/pg_isready", "-q", "-h", path]).returncode:
            time.sleep(0.1)

    def sql(self, text):
        done = subprocess.run([f"{BIN}/psql", "-h", self.folder.name, "-U", "me", "-qtA", "-v", "ON_ERROR_STOP=1", "postgres"],
                              input=text, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def cpu_s(self):
        """Processor time of the server, with that of connections which have ended."""
        total = 0
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                fields = open(stat).read().rsplit(")", 1)[1].split()
                pid = int(stat.split("/")[2])
            except OSError:
                continue
            if pid == self.server.pid:
                total += sum(map(int, fields[11:15]))
            elif int(fields[1]) == self.server.pid:
                total += sum(map(int, fields[11:13]))
        return total / TICKS

    def bench(self, script, clients):
        """Runs a script; returns processor time and log for each transaction, and transactions a second."""
        file = f"{self.folder.name}/script"
        open(file, "w").write(script)
        wal = self.sql("checkpoint; select pg_current_wal_lsn()")
        cpu = self.cpu_s()
        # Prepared where that can be: with \gset it cannot.
        mode = "simple" if "\\gset" in script else "prepared"
        done = subprocess.run([f"{BIN}/pgbench", "-h", self.folder.name, "-U", "me", "-n", "-f", file, "-c", str(clients),
                               "-j", "1", "-T", str(SECONDS), "-M", mode, "postgres"], capture_output=True, text=True)
        count = re.search(r"transactions actually processed: (\d+)", done.stdout)
        if not count or done.returncode:
            raise RuntimeError(done.stderr)
        count = int(count[1])
        # Until the connections have ended.
        time.sleep(0.3)
        cpu = self.cpu_s() - cpu
        bytes_ = int(self.sql(f"select pg_wal_lsn_diff(pg_current_wal_lsn(), '{wal}')::bigint"))
        rate = float(re.search(r"tps = ([\d.]+)", done.stdout)[1])
        result = {"cpu_us": round(1e6 * cpu / count, 1), "wal_bytes": round(bytes_ / count), "per_s": round(rate)}
        print(result, file=sys.stderr)
        return result

    def end(self):
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()


def main():
    postgres = Postgres()
    try:
        postgres.sql(SCHEMA)
        costs = {}

        def measure(name, script, clients):
            print(name, end=" ", file=sys.stderr)
            costs[name] = postgres.bench(script, clients)

        measure("poll_1_column", poll(1), 4)
        measure("poll_8_columns", poll(8), 4)
        measure("poll_64_columns", poll(64), 4)
        head, array = numbers(8)
        measure("owners_of_8_columns", head + OWNERS.format(f"= any({array})"), 4)
        measure(f"owners_of_all_{COLUMNS}_columns", OWNERS.format("< -1"), 4)
        measure("renewal", RENEW, 4)
        for clients in (1, 4, 16, 64, 128):
            measure(f"commit_3_records_{clients}_servers", commit(3, True), clients)
        # Now the log has entries.
        measure("log_of_2_columns", LOG_PARTS, 4)
        measure("read_3_records", READ, 4)
        for clients in (16, 64, 128):
            measure(f"commit_3_records_{clients}_servers_without_hold", commit(3, False), clients)
        measure("commit_1_record_16_servers", commit(1, True), 16)
        measure("commit_12_records_16_servers", commit(12, True), 16)
    finally:
        postgres.end()
    costs["machine"] = {"cores": os.cpu_count(), "seconds": SECONDS, "postgres": os.path.basename(os.path.dirname(BIN))}
    print(json.dumps(costs, indent=1))


main()
