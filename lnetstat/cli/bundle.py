"""Put raw inputs for a bug report into one archive, with stand-ins for NIDs, host names and UUIDs."""

import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import Interval, Name, schema_option
from lnetstat.model import State
from lnetstat.words import iso, printable

if TYPE_CHECKING:
    from lnetstat.bundle.writing import Member
    from lnetstat.model import Snapshot


@click.command()
@click.option("--root", type=Name(), default="/", metavar="DIR", help="Read DIR instead of /: a tree with proc/ and sys/, or peers, nis, …")
@click.option("-o", "--output", type=Name(), metavar="FILE.tar.gz", help="The archive, a new file [default: lnetstat-bundle-TIME.tar.gz].")
@click.option("--samples", type=click.IntRange(1, 100), default=3, show_default=True, help="How often to read everything.")
@click.option("-i", "--interval", "interval_s", type=Interval(), default="1s", show_default=True, help="Time between samples.")
@click.option("--keep-names", is_flag=True, help="Leave NIDs, host names and UUIDs as they are.")
@click.option("--map", "map_path", type=Name(), metavar="FILE", help="Write which stand-in is whose to FILE: keep it to yourself.")
@click.option("--config", type=Name(), metavar="FILE", help="The agent's configuration [default: /etc/lnetstat/lnetstat.toml].")
@click.option("--status-file", type=Name(), metavar="FILE", help="The agent's status [default: /run/lnetstat/status.json].")
@click.option("--json", "as_json", is_flag=True, help="Say what was written as one JSON document.")
@schema_option(_schemas.bundle)
def command(
    root: str,
    output: str | None,
    samples: int,
    interval_s: float,
    keep_names: bool,
    map_path: str | None,
    config: str | None,
    status_file: str | None,
    as_json: bool,
) -> int:
    """Put raw inputs for a bug report into one archive, with stand-ins for NIDs, host names and UUIDs.

    Holds every file that lnetstat reads, some samples of each, versions, what `doctor` says, the agent's settings and status, and a
    manifest in words. The same name has the same stand-in in every file; nets, numbers and columns stay. Only its owner may read the
    archive; look into it before you send it: `lnetstat dump FILE.tar.gz`. Nothing on the node is changed. Exit status 3: it is written,
    but nothing of LNet or Lustre could be read.

    \b
    Examples:
      sudo lnetstat bundle                                          this node
      sudo lnetstat bundle -o router.tar.gz --samples 30 -i 0.5     a longer look
      sudo lnetstat bundle --map names.tsv                          who is who, for yourself
      lnetstat bundle --root /tmp/tree -o tree.tar.gz               a copy of another node's files
    """
    from lnetstat.bundle.names import Names
    from lnetstat.bundle.reading import read_node
    from lnetstat.bundle.writing import members, write_archive, write_new
    from lnetstat.doctor.node import look_at, node_checks

    if keep_names and map_path:
        raise click.UsageError("--map is of stand-ins, and --keep-names makes none")
    if as_json and output == "-":
        raise click.UsageError("-o - puts the archive on stdout: --json has no place there")
    made_ns = time.time_ns()
    path = output or f"lnetstat-bundle-{iso(made_ns).replace('-', '').replace(':', '')}.tar.gz"
    material = read_node(root, samples=samples, interval_s=interval_s, config=config, status=status_file)
    doctor = "doctor: not asked: it would follow links that lead out\n"
    if not material.links_out:
        doctor = "".join(f"{check.line}\n" for check in node_checks(look_at(root)))
    if os.path.realpath(root) != "/":
        doctor = doctor.replace(os.path.abspath(root), "ROOT")
        material = material._replace(left_out=[line.replace(os.path.abspath(root), "ROOT") for line in material.left_out])
    names = None if keep_names else Names()
    files = members(material, names, made_ns, doctor)
    if names is not None and map_path:
        rows = [f"{new}\t{name}\t{kind}" for (kind, name), new in sorted(names.mapping.items())]
        write_new(map_path, "\n".join(["stand_in\tname\tkind", *rows, ""]).encode("utf-8", "surrogateescape"))
    size = write_archive(path, files, made_ns)
    click.echo(
        printable(f"lnetstat: {path}: {len(files)} files, {size} bytes, for you alone to read (0600): look into it before you send it"),
        err=True,
    )
    is_empty = not any(_is_of_lustre(snapshot) for snapshots in material.samples for snapshot in snapshots)
    if is_empty:
        where = "" if root == "/" else f" under {printable(root)}"
        click.echo(f"lnetstat: no file of LNet or Lustre could be read{where}: is LNet loaded, is debugfs mounted, are you root?", err=True)
    if as_json:
        click.echo(json.dumps(_as_json(path, size, files, names_kept=keep_names, map_path=map_path)))
    elif path != "-":
        click.echo(path)
    return 3 if is_empty else 0


def _is_of_lustre(snapshot: "Snapshot") -> bool:
    return snapshot.state in (State.OK, State.PARTIAL) and snapshot.name != "proc/stat"


def _as_json(path: str, size: int, files: "Sequence[Member]", *, names_kept: bool, map_path: str | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "archive": path,
        "bytes": size,
        "files": [{"path": file.path, "bytes": len(file.data)} for file in files],
        "names_kept": names_kept,
        "map": map_path,
    }
