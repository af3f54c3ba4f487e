"""`python -m regard` is the same as `regard`."""

from regard.cli import main

main()
