r"""The program that a node's shell runs: constant, for POSIX sh, with cat and date only.

It is sent to `sh` through its standard input, so the login shell has only the word sh to read. When all of it has been read the shell says
READY; then come a line with a mark, which nobody can guess, a line with the root to read below, and a line for each look. When the other
side dies, that input ends, and so does the loop.

What it prints are parts. A part begins with a line `MARK words` and is the text that follows, up to the line end before the next MARK:

    MARK begin                          the look's beginning: seconds and nanoseconds since the epoch, then the node's uptime
    MARK file PATH                      the file's text, straight from cat
    MARK end STATUS                     what cat said about it on stderr
    MARK no PATH absent | forbidden     a file that cannot be opened
    MARK done                           the time again

A table that changed while it was read (ESTALE) is read again, up to three times; each try is a part of its own. cat gives peers its large
buffer at each read, and gets `stats` and `buffers` in one: coreutils asks for 128 KiB, busybox for 4 KiB at least.
"""

from lnetstat.sources.node import LNET_TABLES
from lnetstat.tables import builtin_tables, table_named

READY = "lnetstat-ready"
TRIES = 4
TUNABLES_EVERY = 600  # looks, of which the first has them

_SERVICES = tuple(builtin_tables()["counters"].paths)
_OTHERS = tuple(builtin_tables()["cpu"].paths)
_TUNABLES = tuple(builtin_tables()["tunables"].paths)

_SCRIPT = r"""
lnetstat_time() { date '+%s %N'; cat /proc/uptime 2>/dev/null; }
lnetstat_read() {
  printf '\n%s no %s' "$mark" "$1"
  if [ ! -e "$1" ]; then printf ' absent\n'; return; fi
  if [ ! -f "$1" ] || [ ! -r "$1" ]; then printf ' forbidden\n'; return; fi
  printf ' reading\n'
  tries=0
  while [ "$tries" -lt @TRIES@ ]; do
    tries=$((tries + 1))
    printf '\n%s file %s\n' "$mark" "$1"
    said=$(cat "$1" 2>&1 >&3)
    status=$?
    printf '\n%s end %s\n%s' "$mark" "$status" "$said"
    case $said in *[Ss]tale*) ;; *) return ;; esac
  done
}
lnetstat_first() {
  for path in "$@"; do
    if [ -e "$path" ]; then lnetstat_read "$path"; return; fi
  done
  for path in "$@"; do
    if [ ! -x "${path%/*}" ] && [ -e "${path%/*}" ]; then printf '\n%s no %s forbidden\n' "$mark" "$path"; return; fi
  done
  for path in "$@"; do
    folder=${path%/*}
    if [ ! -x "${folder%/*}" ] && [ -e "${folder%/*}" ]; then printf '\n%s no %s forbidden\n' "$mark" "$path"; return; fi
  done
  printf '\n%s no %s absent\n' "$mark" "$1"
}
lnetstat_look() {
  printf '\n%s begin\n' "$mark"
  lnetstat_time
@LNET@
  for path in @SERVICES@; do
    if [ -f "$path" ]; then lnetstat_read "$path"; fi
  done
  if [ "$looks" -eq 0 ]; then
    for path in @TUNABLES@; do
      if [ -f "$path" ]; then lnetstat_read "$path"; fi
    done
  fi
  looks=$(((looks + 1) % @EVERY@))
  printf '\n%s done\n' "$mark"
  lnetstat_time
  printf '\n%s .\n' "$mark"
}
lnetstat_main() {
  LC_ALL=C
  export LC_ALL
  exec 3>&1
  looks=0
  printf '\n@READY@\n'
  IFS= read -r mark || exit
  IFS= read -r root || exit
  while IFS= read -r line; do lnetstat_look; done
  exit
}
lnetstat_main
"""


def script() -> str:
    """Return the program's text. Its file names are those of our tables; nothing else goes into it."""
    tables = []
    for name in LNET_TABLES:
        table = table_named(name)
        paths = [_quoted(path) for path in (table.paths if table else ())]
        # a folder that holds the tables themselves, which the node's own root is not
        tables.append(f'  lnetstat_first {" ".join(paths)} "${{root:-/proc/self/none}}"/{name}')
    text = _SCRIPT.replace("@LNET@", "\n".join(tables)).replace("@READY@", READY)
    text = text.replace("@TRIES@", str(TRIES)).replace("@EVERY@", str(TUNABLES_EVERY))
    text = text.replace("@SERVICES@", " ".join(_quoted(path) for path in (*_SERVICES, *_OTHERS)))
    return text.replace("@TUNABLES@", " ".join(_quoted(path) for path in _TUNABLES))


def _quoted(path: str) -> str:
    """Return a path of ours below the root, for the shell; only * keeps its meaning."""
    return '"$root"/' + path


def snapshot_name(path: str, root: str) -> str:
    """Return what a file that the script found is called: peers, ost.OSS.ost_io.stats, proc/stat."""
    relative = path.removeprefix(root).lstrip("/")
    for folder in ("sys/kernel/debug/lustre/", "proc/fs/lustre/"):
        if relative.startswith(folder):
            return relative.removeprefix(folder).replace("/", ".")
    last = relative.rpartition("/")[2]
    return relative if relative in _OTHERS else last
