"""Raw inputs for a bug report: what lnetstat reads here, as it reads it, in one archive that `dump` and `analyze` open.

`reading` takes the samples, `names` gives NIDs, hosts, UUIDs and the like stand-ins, the same in every file, `writing` puts it together.
"""
