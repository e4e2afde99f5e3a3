"""Calls of a kind seen before: recognised, and repeated at the least cost."""
