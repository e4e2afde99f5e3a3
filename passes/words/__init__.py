"""Several narrow elements in one register: sums of bytes, extremes, argmin; and one anchor for several elements."""
