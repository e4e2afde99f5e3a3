"""From the words of a command line to programs, arrays and launches."""
