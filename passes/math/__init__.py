"""Math functions as arithmetic, with the source of each method."""
