"""Instructions on matrices that the lanes of a warp hold together."""
