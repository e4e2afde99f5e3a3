"""From a program and a plan to an artifact: the pipeline of passes, and the artifact as a value and as a file."""
