"""`python -m everlog` is the command `everlog`."""

from everlog.cli.main import main

main()
