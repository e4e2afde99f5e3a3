"""Level 1: one op per stage, on states.

A *state* is one fragment (``access.py``) per value of the monoid; several values are one SSA value of a builtin
``tuple`` type, packed and unpacked by ``builtin.unrealized_conversion_cast``.
"""
