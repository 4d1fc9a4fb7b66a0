# The page of a network in a real browser: test/show/network.py.
@needs python3 -B "$TEST_ROOT/test/show/network.py" --probe

== operations are drawn, found, chosen and followed to their lines, kernels and code, and back; parts on a mesh are drawn
$ python3 -B "$TEST_ROOT/test/show/network.py"
[..] operations and 64 parts compared
