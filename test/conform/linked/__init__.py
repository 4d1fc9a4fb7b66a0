"""Objects of `viewfold build` linked into C programs, and run on the machines that they are for."""
