# `viewfold cache` and `viewfold devices`.

== an empty cache
$ viewfold cache stat
directory [..]/.cache
total     0 entries, 0 bytes
$ viewfold cache verify
0 entries checked, 0 damaged
$ viewfold cache prune
removed 0 entries, 0 bytes; 0 entries, 0 bytes are left

== a cache with entries
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
$ for f in .cache/*/*.code .cache/*/*.plan; do printf x | dd of="$f" bs=1 seek=$(($(wc -c < "$f") - 1)) conv=notrunc 2> /dev/null; done
$ viewfold cache verify
[..]/.cache/[..]: the payload does not match its digest
[..]/.cache/[..]: the payload does not match its digest
2 entries checked, 2 damaged
? 1
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before
$ viewfold cache verify
2 entries checked, 0 damaged

== pruned until it is empty
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ viewfold cache prune --max 0
removed 2 entries, [..] bytes; 0 entries, 0 bytes are left
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: VIEWFOLD_COMPILE=0: graph @chain needs 1 kernel that the cache does not hold, the first is [..]; run once without VIEWFOLD_COMPILE=0 to compile and keep them
? 3
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before

== a limit that is not reached
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ viewfold cache prune --max=1G
removed 0 entries, 0 bytes; 2 entries, [..] bytes are left

== a limit from the environment
$ VIEWFOLD_CACHE_BYTES=1M viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ VIEWFOLD_CACHE_BYTES=1M viewfold cache prune
removed 0 entries, 0 bytes; 2 entries, [..] bytes are left
$ VIEWFOLD_CACHE_BYTES=1 viewfold cache prune
removed 2 entries, [..] bytes; 0 entries, 0 bytes are left
$ VIEWFOLD_CACHE_BYTES=1 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ viewfold cache stat | grep total
total     0 entries, 0 bytes
$ VIEWFOLD_CACHE_BYTES=1T viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: VIEWFOLD_CACHE_BYTES is '1T'; it must be a number of bytes from 1, or one followed by K, M or G
? 2
$ VIEWFOLD_CACHE_BYTES=0 viewfold cache stat
! viewfold cache: VIEWFOLD_CACHE_BYTES is '0'; it must be [..]
? 2

== devices
$ viewfold devices
cpu: [..]
  target [..]
[...]

== the machine's limits are given or measured
$ viewfold devices | grep memory | head -n 1
  memory     not measured; see --measure
$ VIEWFOLD_MACHINE='threads=2 read=40 copy=30,29,28,27,26,25,24,23 fill=20 gflops=200 ghz=3.5 read.1=35 lines=8,7,6,5,4,3,2,1' viewfold devices | sed -n '/^  memory/,/2 threads/p' | head -n 3
  memory     by how much is touched: 24 KiB, 256 KiB, 1 MiB, 4 MiB, 12 MiB, 24 MiB, 64 MiB, 192 MiB
  1 thread   read 35/35/35/35/35/35/35/35, copy 30/29/28/27/26/25/24/23, fill 20/20/20/20/20/20/20/20, lines 8/7/6/5/4/3/2/1 GB/s, 200 GFLOP/s, 3.5 GHz
  2 threads  read 40/40/40/40/40/40/40/40, copy 30/29/28/27/26/25/24/23, fill 20/20/20/20/20/20/20/20, lines 8/7/6/5/4/3/2/1 GB/s, 200 GFLOP/s, 3.5 GHz
$ VIEWFOLD_MACHINE='read=40 copy=30,29' viewfold devices > devices
! viewfold devices: machine: 'copy=30,29' is not a setting; use name=number with a name among threads, read, copy, fill, gflops, ghz, lines, and read.1 to lines.1 for one thread; read, copy, fill and lines may have 8 numbers with commas between them
? 2
$ VIEWFOLD_MACHINE='read.2=40' viewfold devices > devices
! viewfold devices: machine: 'read.2=40' is not a setting; [..]
? 2
$ viewfold cache stat | grep -c machine
0
? 1

== what decides which accesses bypass the caches is measured at first use, where it can be kept and nothing else is said
$ echo quit | VIEWFOLD_MACHINE='threads=1' viewfold bench --serve
ok
$ echo quit | viewfold bench --serve --target l3=4096
ok
$ echo quit | viewfold bench --serve --no-cache
ok
$ viewfold cache stat | grep -c measured
0
? 1
$ echo quit | viewfold bench --serve
ok
$ viewfold cache stat | grep '^measured'
measured  1 entry, [..]
