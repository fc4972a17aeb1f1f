"""Which reader a location needs, told by its name or by how the file begins."""

from enum import Enum

from lnetstat.series import csv, graphite, ior, ltop, parquet, progress
from lnetstat.series.texts import head_of


class Kind(Enum):
    """What a location holds; NONE: no series that is known here, perhaps a recording or an archive."""

    GRAPHITE = "graphite"
    PARQUET = "parquet"
    OPERATIONS = "ior operations"
    SUMMARY = "ior summary"
    LTOP = "ltop"
    PROGRESS = "progress"
    CSV = "csv"
    NONE = ""


def kind_of(location: str) -> Kind:
    """Return what a location holds. A name that ends in .csv is CSV also where the file cannot be read, which its reader then tells."""
    if graphite.is_location(location):
        return Kind.GRAPHITE
    head = head_of(location)
    name = location.lower()
    if head.startswith(parquet.MAGIC) or name.endswith(".parquet"):
        return Kind.PARQUET
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    first = text.split("\n", 1)[0].strip()
    if first == ior.OPERATIONS_HEADER:
        return Kind.OPERATIONS
    if first == progress.HEADER:
        return Kind.PROGRESS
    if ior.is_summary(text):
        return Kind.SUMMARY
    if ltop.is_log(text):
        return Kind.LTOP
    return Kind.CSV if name.endswith((".csv", ".csv.gz")) or csv.is_header(first) else Kind.NONE


def is_series(location: str) -> bool:
    """Return True when a location is no recording or archive but one of the series that are read here."""
    return kind_of(location) is not Kind.NONE
