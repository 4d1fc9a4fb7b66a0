# The registry of operations.

== the documentation has the table that the command prints
$ sed -n '/^|/p;/^$/!d' "$TEST_ROOT/docs/operations.md" > page; viewfold ops | sed '/^$/d' | diff page -

== the example in the help is what the command prints
$ viewfold ops --help | sed -n '/^  \$ /,/^$/p' | sed '1d;s/^  //;/^$/d' > said
$ viewfold ops | grep '^| matmul ' | diff said -

== as JSON, one operation per line
$ viewfold ops --json | grep '^{"operation":"gather"'
{"operation":"gather","also":"","kind":"indirect","dtype":"same","shape":"gather","batching":"own","derivative":"linear","sharding":"... d[:], ... i[:] -> ... d[:a] i[:] d[a+1:]","partial sums":"first","cost":""}
$ viewfold ops --json | grep '"softmax"'
{"operation":"softmax","dtype":"float","shape":"same"}

== no arguments
$ viewfold ops all
! viewfold ops: no arguments expected, found 'all'
! Try 'viewfold ops --help'.
? 2
