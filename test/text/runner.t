# The runner of these files, run on files of its own.

== expected output passes
<<< good.t
== prints
$ printf 'one\n\ntwo\n'
one
\
two

== fails as it should
$ echo no >&2; exit 3
! no
? 3
>>>
$ "$TEST_ROOT/build/run_text" good.t
2 passed, 0 failed, 0 skipped

== every kind of difference is a failure
<<< bad.t
== output
$ echo a; echo b
a
c

== status
$ exit 1

== standard error
$ echo oops >&2

== newline
$ printf a
a

== crash
$ kill -SEGV $$
>>>
$ "$TEST_ROOT/build/run_text" bad.t
FAIL bad.t:1: output
  line 2: $ echo a; echo b
  standard output, from line 2:
    -c
    +b
FAIL bad.t:6: status
  line 7: $ exit 1
  exit status 1, expected 0
FAIL bad.t:9: standard error
  line 10: $ echo oops >&2
  standard error, from line 1:
    +oops
FAIL bad.t:12: newline
  line 13: $ printf a
  standard output, from line 1:
    -a
    +a[no newline]
FAIL bad.t:16: crash
  line 17: $ kill -SEGV $$
  exit status 139, expected 0
0 passed, 5 failed, 0 skipped
? 1

== --accept writes the actual output, and then passes
<<< new.t
# kept
== anything
$ echo '$ x'; echo '# y'; echo; echo e >&2; exit 2
# kept too
>>>
$ "$TEST_ROOT/build/run_text" --accept new.t
accepted new.t
1 passed, 0 failed, 0 skipped
$ cat new.t
\# kept
\== anything
\$ echo '$ x'; echo '# y'; echo; echo e >&2; exit 2
\\$ x
\\# y
\\
\! e
\? 2
\# kept too
$ "$TEST_ROOT/build/run_text" new.t
1 passed, 0 failed, 0 skipped

== wildcards
<<< wild.t
== both
$ seq 5; echo it took 17 ms, and 3 more
[...]
4
[...]
it took [..] ms, [..] more
>>>
$ "$TEST_ROOT/build/run_text" wild.t
1 passed, 0 failed, 0 skipped

== a case whose needs are not met is skipped, and says so
<<< needs.t
== elsewhere
@needs false
$ echo unseen
>>>
$ "$TEST_ROOT/build/run_text" needs.t
skip needs.t:1: elsewhere (needs: false)
0 passed, 0 failed, 1 skipped

== cases do not see each other's files
<<< apart.t
== writes
$ touch left
== looks
$ ls
>>>
$ "$TEST_ROOT/build/run_text" apart.t
2 passed, 0 failed, 0 skipped

== cases that begin with the text that a command is run on
<<< texts.t
# a file of texts
@text x: sh -c 'cat x; cat x >&2; exit 3'
== right
one

# of the text
two
! one
!
! # of the text
! two
? 3
== wrong
three
! four
? 3
>>>
$ "$TEST_ROOT/build/run_text" texts.t
FAIL texts.t:3: right
  line 4: $ sh -c 'cat x; cat x >&2; exit 3'
  standard output, from line 1:
    +one
    +
    +# of the text
    +two
FAIL texts.t:13: wrong
  line 14: $ sh -c 'cat x; cat x >&2; exit 3'
  standard output, from line 1:
    +three
  standard error, from line 1:
    -four
    +three
0 passed, 2 failed, 0 skipped
? 1
$ "$TEST_ROOT/build/run_text" --accept texts.t
accepted texts.t
2 passed, 0 failed, 0 skipped
$ sed -n '/^== wrong/,$p' texts.t
\== wrong
three
three
\! three
\? 3
