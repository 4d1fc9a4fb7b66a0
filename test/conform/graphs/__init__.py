"""Random graphs of many operations, and what NumPy makes of them: see random_graphs.py."""
