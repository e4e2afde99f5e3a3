"""What the commands do with a program of arrays."""
