"""Models as their libraries have them, exported, and run by viewfold and by its peers: the parts of models.py."""
