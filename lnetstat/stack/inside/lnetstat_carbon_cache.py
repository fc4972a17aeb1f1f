"""Start carbon-cache, and let it write what it still holds when it ends.

carbon's writer sleeps for a second whenever its cache is empty. Stopped during that sleep carbon 1.1.10 ends without writing the
points that came meanwhile: at 1 Hz the last second of every series. So the cache is written once more after its writer has ended.
"""

import importlib
import sys
from typing import Any


def write_rest() -> None:
    # Imported here: carbon.writer reads the configuration when it is imported.
    importlib.import_module("carbon.writer").writeCachedDataPoints()


def run_app(config: Any) -> None:
    # Imported here: importing the reactor earlier would choose it before twistd does.
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    reactor.addSystemEventTrigger("after", "shutdown", write_rest)
    importlib.import_module("twisted.scripts.twistd").runApp(config)


if __name__ == "__main__":
    util: Any = importlib.import_module("carbon.util")
    util.runApp = run_app
    try:
        util.run_twistd_plugin("carbon-cache.py")
    except importlib.import_module("carbon.exceptions").CarbonConfigException as error:
        sys.exit(str(error))
