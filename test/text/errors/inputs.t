# Inputs and options that do not match the graph.
<<< g.vf
graph @g(%x: f32[n=4..64:4,3], %y: f32[n*2], %s: u8[]) {
  %a = sum %x axes=[1]
  %b = shrink %y bounds=[[0,n]]
  %c = add %a, %b
  return %c, %s
}
>>>

== no file
$ viewfold run
! viewfold run: no file given; for example: viewfold run blur.vf --in x=x.npy --out h=h.npy
! Try 'viewfold run --help'.
? 2

== two files
$ viewfold run g.vf g.vf
! viewfold run: one graph at a time, found 'g.vf' as well; arrays are given by name, as in --in x=x.npy
! Try 'viewfold run --help'.
? 2

== an unknown option
$ viewfold run g.vf --inn x=x.npy
! viewfold run: unknown option '--inn'; did you mean --in?
! Try 'viewfold run --help'.
? 2

== an option without its value
$ viewfold run g.vf --in
! viewfold run: option --in needs a value: NAME=VALUE
! Try 'viewfold run --help'.
? 2

== an input without a value
$ viewfold run g.vf --in x
! viewfold run: --in takes NAME=VALUE, found 'x'; as in --in x=FILE.npy
! Try 'viewfold run --help'.
? 2

== an input without a name
$ viewfold run g.vf --in =x.npy
! viewfold run: --in takes NAME=VALUE, found '=x.npy'
! Try 'viewfold run --help'.
? 2

== a missing input
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in s=1
! viewfold run: no value for parameter %y: f32[(n*2)]; give it as --in y=FILE.npy
! Try 'viewfold run --help'.
? 2

== an unknown input
$ viewfold run g.vf --in z=z.npy
! viewfold run: --in: @g has no parameter %z; it has %x, %y, %s
! Try 'viewfold run --help'.
? 2

== an input given twice
$ viewfold run g.vf --in s=1 --in s=2
! viewfold run: --in s is given twice
! Try 'viewfold run --help'.
? 2

== an unknown value
$ viewfold run g.vf --out d=d.npy
! viewfold run: --out: @g has no value %d; it has %x, %y, %s, %a, %b, %c, %s
! Try 'viewfold run --help'.
? 2

== a result given twice
$ viewfold run g.vf --out c=c.npy --out c=d.npy
! viewfold run: --out c is given twice
! Try 'viewfold run --help'.
? 2

== two results into one file
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --out c=c.npy --out s=c.npy
! viewfold run: --out: two results go to c.npy
! Try 'viewfold run --help'.
? 2
$ ls -A
.cache
g.vf

== a size that breaks its bounds
<<< few.vf
graph @few(%x: f32[n=2..4]) { return %x }
>>>
$ viewfold run few.vf --in x=[1]
! viewfold run: %x is f32[n], but the value given holds f32[1]: axis 0 makes n = 1, which is not within its bounds 2..4
? 2

== a size that breaks its divisor
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2] --in s=1
! viewfold run: %x is f32[n,3], but the value given holds f32[6,3]: axis 0 makes n = 6, which is not a multiple of its divisor 4
? 2

== sizes that contradict each other
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6] --in s=1
! viewfold run: %y is f32[(n*2)], but the value given holds f32[6]: axis 0, (n*2), has to be 8 by the other sizes
? 2

== an array whose fixed size is wrong
$ viewfold run g.vf --in 'x=[[1,2],[1,2],[1,2],[1,2]]' --in y=[1,2,3,4,5,6,7,8] --in s=1
! viewfold run: %x is f32[n,3], but the value given holds f32[4,2]: axis 1 has to be 3
? 2

== a size given that contradicts the inputs
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --size n=8
! viewfold run: %x is f32[n,3], but the value given holds f32[4,3]: axis 0, n, has to be 8 by --size; leave that out
? 2

== an unknown size
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --size m=8
! viewfold run: --size: @g has no variable m; it has n
! Try 'viewfold run --help'.
? 2

== a size that is not a number
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --size n=four
! viewfold run: --size takes NAME=INTEGER, found 'n=four'
! Try 'viewfold run --help'.
? 2

== a size that follows from no input
<<< iota.vf
graph @positions(%x: f32[]) {
  %i = iota shape=[k=1..5] dtype=i32
  return %i, %x
}
>>>
$ viewfold run iota.vf --in x=1
! viewfold run: the inputs do not tell the size k; give it as --size k=VALUE
! Try 'viewfold run --help'.
? 2
$ viewfold run iota.vf --in x=1 --size k=6
! viewfold run: --size: k = 6, which is not within its bounds 1..5
! Try 'viewfold run --help'.
? 2

== a number that the dtype does not hold
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=256
! --in s:1:1: error: const: the value 256 does not fit u8, which holds the integers 0..255; use a value in that range or another dtype
? 2

== a number where an array belongs
$ viewfold run g.vf --in x=1
! viewfold run: %x is f32[n,3], but the value given holds f32[]: 0 axes found, 2 expected
? 2

== a ragged array
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2]]'
! --in x:1:1: error: data: values are ragged: a list of 3 was expected at depth 1, and [1] is one of 2; lists of one depth must have one length
? 2

== an array that does not close
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3]'
! --in x:1:17: error: bad list, found the end of the text, expected ',' or ']'
? 2

== text after an array
$ viewfold run g.vf --in 'x=[[1,2,3]] [4]'
! --in x:1:11: error: unexpected text after a value, found '[', expected its end
? 2

== a device that this machine does not have
$ viewfold run 'f32[2].flip(0)' --in x=[1,2] --device opencl:999
! viewfold run: [..]
? 3
$ VIEWFOLD_DEVICE='opencl:no such name' viewfold run 'f32[2].flip(0)' --in x=[1,2]
! viewfold run: [..]
? 3

== an unknown device
$ viewfold run 'f32[2].flip(0)' --in x=[1,2] --device gpu
! viewfold run: unknown device 'gpu'; expected cpu, c, opencl, opencl:NUMBER or opencl:PART OF NAME
! Try 'viewfold run --help'.
? 2

== threads
$ viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --threads 0
! viewfold run: --threads takes a number from 1 to 4096, found '0'
! Try 'viewfold run --help'.
? 2
$ VIEWFOLD_THREADS=many viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1
! viewfold run: VIEWFOLD_THREADS takes a number from 1 to 4096, found 'many'
! Try 'viewfold run --help'.
? 2

== a cold cache that may not be filled
$ VIEWFOLD_COMPILE=0 viewfold run g.vf --in 'x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]' --in y=[1,2,3,4,5,6,7,8] --in s=1 --out c=c.npy
! viewfold run: VIEWFOLD_COMPILE=0: graph @g needs 2 kernels that the cache does not hold, the first is [..]; run once without VIEWFOLD_COMPILE=0 to compile and keep them
? 3
$ ls -A
g.vf

== a result larger than any memory
$ viewfold run 'f32[1].expand(1000000000000000)' --in x=[1] 2> said; status=$?; tail -n 1 said; exit $status
viewfold run: not enough memory for the 4000000000000000 bytes of result %y
? 3

== indices out of range
<<< pick.vf
graph @pick(%x: f32[4], %i: i32[2]) {
  %y = gather %x, %i axis=0
  return %y
}
>>>
$ viewfold run pick.vf --in x=[1,2,3,4] --in i=[-4,3]
y: f32[2] = [1.0, 4.0]
$ viewfold run pick.vf --in x=[1,2,3,4] --in i=[-5,3]
! viewfold run: graph @pick: gather %x, %i axis=0: %i[0] is -5, but axis 0 of %x has 4 elements (pick.vf:2); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== commands
$ viewfold
! viewfold folds chains [..]
! [...]
? 2
$ viewfold rnu g.vf
! viewfold: unknown command 'rnu'; did you mean run?
! Try 'viewfold --help'.
? 2
$ viewfold --versoin
! viewfold: unknown option '--versoin'; did you mean --version?
! Try 'viewfold --help'.
? 2

== dump
$ viewfold dump g.vf
! viewfold dump: exactly one of --stage and --print-after is needed, as in --stage=kernels
! Try 'viewfold dump --help'.
? 2
$ viewfold dump --stage=loop g.vf
! viewfold dump: unknown stage 'loop'; did you mean loops? The stages are graph, shard, spmd, kernels, index, loops, llvm, asm, opencl, c
! Try 'viewfold dump --help'.
? 2
$ viewfold dump --stage=loops --print-after=all g.vf
! viewfold dump: exactly one of --stage and --print-after is needed, as in --stage=kernels
! Try 'viewfold dump --help'.
? 2
$ viewfold dump --print-after=lopps g.vf
! viewfold dump: unknown pass 'lopps'; did you mean loops?
! Try 'viewfold dump --help'.
? 2
$ viewfold dump --stage=loops
! viewfold dump: no file given; for example: viewfold dump --stage=loops blur.vf
! Try 'viewfold dump --help'.
? 2
$ viewfold dump --stage=loops g.vf --target='vector_bytes=7'
! viewfold dump: target: 'vector_bytes=7': vector_bytes must be 16, 32 or 64
? 2

== cache and devices
$ viewfold cache
! viewfold cache: no action given; expected stat, prune or verify
! Try 'viewfold cache --help'.
? 2
$ viewfold cache show
! viewfold cache: unknown action 'show'; expected stat, prune or verify
! Try 'viewfold cache --help'.
? 2
$ viewfold cache stat --max=1
! viewfold cache: --max belongs to prune
! Try 'viewfold cache --help'.
? 2
$ viewfold cache prune --max=lots
! viewfold cache: --max takes a number of bytes, or one followed by K, M or G, found 'lots'
! Try 'viewfold cache --help'.
? 2
$ viewfold cache prune --max=99999999999G
! viewfold cache: --max takes a number of bytes, or one followed by K, M or G, found '99999999999G'
! Try 'viewfold cache --help'.
? 2
$ viewfold devices cpu
! viewfold devices: no arguments expected, found 'cpu'
! Try 'viewfold devices --help'.
? 2

== no directory for a cache
$ env -u VIEWFOLD_CACHE_DIR -u HOME -u XDG_CACHE_HOME viewfold cache stat
! viewfold cache: there is no cache: VIEWFOLD_CACHE_DIR, XDG_CACHE_HOME and HOME are all unset
! Try 'viewfold cache --help'.
? 2

== files without a name
<<< a.vf
graph @f(%x: f32[2]) {
  %y = neg %x
  return %y
}
>>>
$ viewfold run a.vf --in x.npy
! viewfold run: --in takes NAME=VALUE, found 'x.npy'; as in --in NAME=x.npy, with the name of a parameter
! Try 'viewfold run --help'.
? 2
$ viewfold run a.vf --in x=[1,2] --out y.npy
! viewfold run: --out takes NAME=VALUE, found 'y.npy'; as in --out NAME=y.npy, with the name of a result
! Try 'viewfold run --help'.
? 2

== a cache to be emptied
$ viewfold cache --clear
! viewfold cache: unknown option '--clear'; `viewfold cache prune --max 0` removes all
! Try 'viewfold cache --help'.
? 2
