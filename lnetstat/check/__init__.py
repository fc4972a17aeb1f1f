"""One line for a monitoring system: is this node, this record or this Graphite well? The Monitoring Plugins guidelines' words and statuses.

`kinds` lists what is looked at, with defaults. `tables` takes figures from rows of tables, `recorded` runs through a source's snapshots
with it, `graphite` takes the same figures from Graphite, `dead_time` asks the analyzer. `ranges` are the guidelines' thresholds, `verdict`
judges figures by them and says it. A node is looked at with the standard library alone.
"""
