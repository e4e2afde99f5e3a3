"""The choice of a plan for a geometry on a target."""
