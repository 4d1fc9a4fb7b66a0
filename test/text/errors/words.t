# Messages that say what to write instead.
<<< x.vf
graph @g(%x: f32[4,2], %n: i64[]) {
  %y = neg %x[0:2]
  return %y
}
>>>
<<< y.vf
graph @g(%x: f32[4,2], %n: i64[]) {
  %y = mul %x, %n
  return %y
}
>>>

== part of a value, as Python writes it
$ viewfold run x.vf
! x.vf:2:14: error: a value has no brackets, found '[', expected the end of the line; slice takes a part, as in slice %x start=[0] size=[2], and point one index
? 2

== a parameter without a value
$ viewfold run y.vf --in n=1
! viewfold run: no value for parameter %x: f32[4,2]; give it as --in x=FILE.npy
! Try 'viewfold run --help'.
? 2

== a stage that there is not
$ viewfold dump --stage=foo y.vf
! viewfold dump: unknown stage 'foo'; the stages are graph, shard, spmd, kernels, index, loops, llvm, asm, opencl, c
! Try 'viewfold dump --help'.
? 2

== a directory that cannot hold a cache: said once for all its kernels, and the run goes on
$ VIEWFOLD_CACHE_DIR=/dev/null viewfold run 'f32[2].flip(0)' --in x=[1,2]
y: f32[2] = [2.0, 1.0]
! viewfold: cache: /dev/null is not used: Not a directory; name a directory that can be made and written in VIEWFOLD_CACHE_DIR

== a name that is longer than a path may be
$ viewfold import model.onnx -o "$(printf 'd%4200s' .vf | tr ' ' d)"
! viewfold import: -o: the name is too long
! Try 'viewfold import --help'.
? 2

== ref before the name
<<< a.vf
graph @g(ref %r: f32[3]) {
  %y = neg %r
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:10: error: bad parameter, found 'ref', expected the name first, as in %r: ref f32[3]
? 2

== ref behind the type
<<< a.vf
graph @g(%r: f32[3] ref) {
  %y = neg %r
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:21: error: bad type of a parameter, found 'ref', expected ref before the type, as in %r: ref f32[3]
? 2

== sizes in two lists
<<< a.vf
graph @g(%x: f32[4][3]) {
  %y = neg %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:20: error: bad type of a parameter, found '[', expected all sizes in one list, as in f32[4,3]
? 2

== a number in parentheses
<<< a.vf
graph @g(%x: f32[4]) {
  %y = add %x, (1)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: add: operand 2 is the index expression 1, not a tensor; a number stands without parentheses
? 2
