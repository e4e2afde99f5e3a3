"""``warpfold page``: one HTML file that shows a reduction or a program from its Python lines to the lanes of a warp.

Data flows one way: ``collect`` asks the compiler, the planner and the emulator, and makes the values of ``model``;
``html`` writes these as text, and the player's part of them as JSON. ``page.html``, ``page.css`` and the scripts are
what a reader's browser gets, unchanged.
"""
