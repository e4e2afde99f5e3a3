"""Checks of results: reference values, and bounds on the rounding error of a device."""
