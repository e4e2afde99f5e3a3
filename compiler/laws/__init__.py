"""Whether a monoid keeps the laws that it claims: proved, tried on states, or refuted by values."""
