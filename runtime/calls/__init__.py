"""One call: its operands, and recipes that repeat the launches of earlier calls."""
