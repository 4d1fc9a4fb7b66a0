"""Random graphs of many operations, and NumPy's results of them: see random_graphs.py."""
