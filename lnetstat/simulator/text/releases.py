"""How four releases of Lustre print LNet's tables: which layout of lnetstat.tables, and what stands where the model has no number."""

from typing import NamedTuple

from lnetstat.tables import counters, peers, routers, routes


class Release(NamedTuple):
    """One release's habits.

    `hops`: printed for a route whose distance was not set; `pools_everywhere`: nodes that do not route print buffer rows of zeros;
    `aliveness_everywhere`: peer health is kept by every node (else by routers only), `last`: `peers` prints seconds since the last sign
    of life where it is kept (else -1, or no such column).
    """

    peers: str
    routes: str
    routers: str
    counters: str
    hops: int
    pools_everywhere: bool
    aliveness_everywhere: bool
    last: bool


RELEASES = {
    "1.8": Release(peers.NINE.name, routes.FOUR.name, routers.NINE.name, counters.MICRO, 1, True, True, False),
    "2.5": Release(peers.TEN.name, routes.FIVE.name, routers.NINE.name, counters.MICRO, 1, False, False, True),
    "2.12": Release(peers.TEN.name, routes.FIVE.name, routers.NINE.name, counters.NANO, -1, False, False, True),
    "2.16": Release(peers.TEN.name, routes.FIVE.name, routers.FOUR.name, counters.START, -1, False, False, False),
}
LAST_MOST_S = 9999  # lnet_debugfs.c caps it
