"""States of reductions as values: reduce in parts, anywhere and at any time, and finish later."""
