"""The grid: many layouts of one buffer in every element type, measured against plain reads."""
