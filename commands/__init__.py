"""What the commands of ``warpfold`` do. ``cli`` declares them; nothing here knows click.

There is one file for each command. ``requests/`` turns the command line into programs and arrays, ``checking/`` checks
results, ``terminal`` prints and ``output_file`` writes them.
"""
