# The page in a real browser: test/show/browser.py.
@needs python3 -B "$TEST_ROOT/test/show/browser.py" --probe

== each element that is pointed at has the address that the evaluator gives it; nothing is fetched
$ python3 -B "$TEST_ROOT/test/show/browser.py"
13 chains, [..] elements compared
