"""`python -m intertie.cli`, the same as `intertie`."""

from intertie.cli import main

main()
