"""The grid: every layout of one buffer in every element type, measured against plain reads."""
