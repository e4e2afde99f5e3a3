"""Tracing functions of whole arrays: symbolic arrays, broadcasting, and folds over axes."""
