"""Turns the command line into programs, arrays and launches."""
