"""The dashboards, defined once, and what is built from them. Standard library only."""

from lnetstat.dashboards.definition import Dashboard

DASHBOARDS: tuple[Dashboard, ...] = ()
