"""Plans whose lanes lie along the reduced axis."""
