"""``python -m warpfold.cli`` is ``warpfold``."""

from . import main

main()
