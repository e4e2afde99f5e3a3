"""The iteration space: the dims of a reduction, and how its arrays lie along them."""
