"""What ``warpfold bench`` and the grid of shapes measure, with what, and how it is kept and shown."""
