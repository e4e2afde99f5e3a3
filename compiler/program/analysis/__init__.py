"""What can be seen in a graph without running it: laws, operations, sums under an anchor, costs."""
