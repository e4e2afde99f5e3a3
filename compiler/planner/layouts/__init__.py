"""Plans for particular layouts: each file says which it serves, and how."""
