"""Array programs of arrays that are cut into shards: what each rank computes, and which states travel in between."""
