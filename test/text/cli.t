# The command itself.

== a version
$ viewfold --version
viewfold [..]

== --help goes to standard output, and usage without a command to standard error
$ viewfold --help | head -1
viewfold folds chains of tensor views into index expressions, and runs graphs of tensor operations.
$ viewfold -h | head -1
viewfold folds chains of tensor views into index expressions, and runs graphs of tensor operations.
$ viewfold help index | head -1
Usage: viewfold index [--raw | --views | --explain] [--trace-rules] CHAIN
$ viewfold 2>&1 >/dev/null | head -1
viewfold folds chains of tensor views into index expressions, and runs graphs of tensor operations.
$ viewfold 2> out
? 2

== every command answers --help
$ viewfold --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' > names
$ for c in $(cat names); do viewfold $c --help | grep -q "^Usage: viewfold $c" || echo "$c does not"; done

== the example in the help is what the command prints
$ viewfold --help | grep -c -F "$(viewfold index 'f32[3,2].permute(1,0)')"
1

== unknown commands and options
$ viewfold indx
! viewfold: unknown command 'indx'; did you mean index?
! Try 'viewfold --help'.
? 2
$ viewfold frobnicate
! viewfold: unknown command 'frobnicate'; the commands are index, run, check, dump, pass, show, build, import, explain, bench, tune, cache, devices, rules, ops, mesh and reshard
! Try 'viewfold --help'.
? 2
$ viewfold --versoin
! viewfold: unknown option '--versoin'; did you mean --version?
! Try 'viewfold --help'.
? 2
$ viewfold help frobnicate
! viewfold: unknown command 'frobnicate'; the commands are index, run, check, dump, pass, show, build, import, explain, bench, tune, cache, devices, rules, ops, mesh and reshard
! Try 'viewfold --help'.
? 2

== output that cannot be written
@needs test -e /dev/full
$ viewfold --version > /dev/full
! viewfold: writing to standard output: No space left on device
? 2
