"""What warpfold comes with: monoids, and the reductions that fold with them. A user's are made the same way."""
