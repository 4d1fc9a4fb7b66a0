"""Views of data: an oracle in NumPy, and sequences of calls that it judges (data_views.py)."""
