"""python -m lnetstat."""

from lnetstat.cli import main

main()
