# `viewfold cache` and `viewfold devices`.

== an empty cache
$ viewfold cache stat
directory [..]/.cache
total     0 entries, 0 bytes
$ viewfold cache verify
0 entries checked, 0 damaged
$ viewfold cache prune
removed 0 entries; 0 entries, 0 bytes are left

== a cache that holds something
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ viewfold cache stat
directory [..]/.cache
code      1 entry, [..] bytes
plan      1 entry, [..] bytes
total     2 entries, [..] bytes
$ viewfold cache verify
2 entries checked, 0 damaged

== a damaged entry is reported, and not used
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ for f in .cache/*/*; do printf x | dd of="$f" bs=1 seek=$(($(wc -c < "$f") - 1)) conv=notrunc 2> /dev/null; done
$ viewfold cache verify
[..]/.cache/[..]: the payload does not match its digest
[..]/.cache/[..]: the payload does not match its digest
2 entries checked, 2 damaged
? 1
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before
$ viewfold cache verify
2 entries checked, 0 damaged

== pruned to nothing
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ viewfold cache prune --max 0
removed 2 entries; 0 entries, 0 bytes are left
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: VIEWFOLD_COMPILE=0: graph @chain needs 1 kernel that the cache does not hold, the first is [..]; run once without VIEWFOLD_COMPILE=0 to compile and keep them
? 3
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before

== a cap that is not reached
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ viewfold cache prune --max=1G
removed 0 entries; 2 entries, [..] bytes are left

== devices
$ viewfold devices
cpu: [..]
  target [..]
[...]
