"""The tensor program in MLIR, and the building blocks that passes write code with."""
