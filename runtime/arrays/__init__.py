"""Arrays of any library as views, and results in the caller's library."""
