"""Several elements or results in one register: bytes, extremes, ranks."""
