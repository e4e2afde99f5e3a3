"""One graph in place of another that computes the same: narrower states, packed words, adjoined identities."""
