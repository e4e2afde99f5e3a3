"""What is computed: a Python function traced to an expression graph, and everything that is made of graphs."""
