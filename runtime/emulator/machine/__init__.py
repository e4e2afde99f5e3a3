"""The machine that runs a launch: threads, memory, barriers and the schedule."""
