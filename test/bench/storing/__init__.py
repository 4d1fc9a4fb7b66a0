"""Drawing graphs, storing their values, timing and shrinking them: the parts of stored.py."""
