"""What an agent is told: from the command line, from a file, or from both."""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from lnetstat.reduce.metrics import PREFIX, SERIES_MAX

SPOOL_BYTES_MAX = 1 << 30
SPOOL_AGE_S_MAX = 6 * 3600.0  # the finest retention: Carbon files older points into coarser slots
RESEND_S = 60.0  # what Carbon may have read and not written yet
RESTART_ONLY = (
    "root",
    "host",
    "deadline_s",
    "samples",
    "reset_low_water",
    "stdout",
    "prefix",
    "resend_s",
    "spool",
    "spool_max_bytes",
    "spool_max_age_s",
)


class AgentSettings(NamedTuple):
    """What to read, how often, and where it goes.

    `samples`: end after so many ticks, 0 never. `resend_s`: what was sent to a Carbon so lately is sent again when its connection breaks.
    `spool`: a folder, with one in it for each Carbon. `prometheus`: ADDR:PORT. `textfile`, `status`: files kept for node_exporter and for
    `agent --status`. `config`: the file that SIGHUP reads again; `given`: the settings of the command line, which win over the file.
    """

    root: str = "/"
    host: str | None = None
    interval_s: float = 1.0
    deadline_s: float = 1.0
    samples: int = 0
    reset_low_water: bool = False
    recording: str | None = None
    max_bytes: int = 0
    max_age_s: float = 0.0
    carbon: Sequence[str] = ()
    stdout: bool = False
    prefix: str = PREFIX
    series_max: int = SERIES_MAX
    resend_s: float = RESEND_S
    spool: str | None = None
    spool_max_bytes: int = SPOOL_BYTES_MAX
    spool_max_age_s: float = SPOOL_AGE_S_MAX
    prometheus: str | None = None
    textfile: str | None = None
    status: str | None = None
    config: str | None = None
    given: Sequence[str] = ()


def settings_from_json(text: str) -> AgentSettings:
    """Return settings as the command line hands them to the agent's process."""
    settings = AgentSettings(**json.loads(text))
    return settings._replace(carbon=tuple(settings.carbon), given=tuple(settings.given))


def settings_of(config: str | None, given: dict[str, Any]) -> AgentSettings:
    """Return the settings of a file (if any) and a command line, whose words win. Raises ConfigError."""
    from lnetstat.config import ConfigError, contradictions, read_config

    file = os.path.abspath(config) if config else None
    values = (read_config(file) if file else {}) | given
    problems = contradictions(values)
    if problems:
        raise ConfigError([f"{file}: {problem}" for problem in problems] if file else problems)
    return AgentSettings(**values, config=file, given=tuple(given))


def read_again(settings: AgentSettings) -> AgentSettings:
    """Return what the file says now, under what the command line said then. Raises ConfigError."""
    return settings_of(settings.config, {name: getattr(settings, name) for name in settings.given})
