"""Programs that read and write arrays through views, and what NumPy makes of them (writes.py)."""
