"""The arithmetic of PTX types, bit for bit."""
