"""The parts of a distributed kernel: a place gives a walk and a reader; their states go to a meeting, then a finish."""
