"""Programs of arrays: from a call's arguments to traces, plans, and launches of steps."""
