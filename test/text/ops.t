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

== one operation
$ viewfold ops cumsum
operation   cumsum
operands    1: x
[...]
example:
graph @cumsum(%x: f32[2,3]) {
  %y = cumsum %x axis=1
  return %y
}
$ viewfold ops transpose | sed -n '1,7p'
operation   transpose
operands    1: x
attributes  axis1 (may be left out): an axis, such as 0
            axis2 (may be left out): an axis, such as 0
the same as permute
also        swap_axes transpose moveaxis
kind        shape
$ viewfold ops all.
! viewfold ops: no operation 'all.'; nearest: all
! Try 'viewfold ops --help'.
? 2
$ viewfold ops --json neg
! viewfold ops: --json lists all operations; it takes no name, found 'neg'
! Try 'viewfold ops --help'.
? 2

== every example runs; those without one are no operations of text, or need something that an example cannot say
$ viewfold ops --json | sed 's/^{"operation":"\([a-z0-9_]*\)".*/\1/' | sort -u > names
$ for name in $(cat names); do viewfold ops $name 2> none | sed '1,/^example:/d' > one; if [ -s one ]; then cat one; else echo $name >> missing; fi; done > examples.vf
$ viewfold check examples.vf > said; echo $?
0
$ grep -v 'as expected\|^$' said | grep -c FAILED
0
? 1
$ test $(grep -c '^graph' examples.vf) -gt 115 && xargs < missing
all_gather all_reduce all_to_all axis_index batch bernoulli buffer custom distributed_broadcast exchange fma2 found gather_all_axes gaussian index_all index_interval index_new_axis index_point index_window input pmean ppermute rebatch reduce_scatter resource result shard threefry2x32 unbatch
