"""Whether a result is right: references, and how far rounding may carry a value."""
