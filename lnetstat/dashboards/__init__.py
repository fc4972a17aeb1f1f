"""The dashboards, defined once; Grafana's and graphite-web's files, the stack's own page and docs/dashboards.md are made from them."""

from lnetstat.dashboards.credits import CREDITS
from lnetstat.dashboards.deadtime import DEAD_TIME
from lnetstat.dashboards.definition import Dashboard
from lnetstat.dashboards.interfaces import INTERFACE_HEALTH, ITSELF
from lnetstat.dashboards.routers import OVERVIEW, ROUTER
from lnetstat.dashboards.servers import OSS

DASHBOARDS: tuple[Dashboard, ...] = (OVERVIEW, ROUTER, OSS, CREDITS, DEAD_TIME, INTERFACE_HEALTH, ITSELF)
