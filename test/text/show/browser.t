# The page in a real browser: test/show/browser.py.
@needs python3 -B "$TEST_ROOT/test/show/browser.py" --probe

== the address shown for an element under the pointer is the evaluator's; nothing is fetched
$ python3 -B "$TEST_ROOT/test/show/browser.py"
[..] chains, [..] elements compared
