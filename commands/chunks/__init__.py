"""``warpfold run --chunk``: files larger than memory, reduced chunk after chunk."""
