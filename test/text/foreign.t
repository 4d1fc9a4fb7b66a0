# Names of other systems' operations: what to write here. The rows of passes/ops/foreign.def are parsed by test_ops_refused.
== one operation
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = cat %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: cat: there is no such operation; here it is %z = concat %x, %y axis=0
? 2

== several
<<< a.vf
graph @g(%x: f32[4,3], %w: f32[3,3], %b: f32[3]) {
  %y = Gemm %x, %w, %b
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: Gemm: there is no such operation; here it is %m = matmul %x, %y; %z = add %m, %b
? 2

== none
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = nonzero %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: nonzero: there is no such operation; a shape cannot depend on elements; take where with a neutral element, or sort and topk
? 2

== another way of writing it
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = jax.nn.LeakyRelu %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:8: error: jax.nn.LeakyRelu: there is no such operation; here it is leaky_relu
? 2

== asked for
$ viewfold ops vf_mm
! viewfold ops: no operation 'vf_mm'; here it is %z = matmul %x, %y
! Try 'viewfold ops --help'.
? 2

== a view of a chain
$ viewfold index 'f32[6].view(2,3)'
! <chain>:1:8: error: unknown view, found 'view'; did you mean reshape?
? 2

== every row stands in docs/coming-from.md
<<< rows.awk
/^(FOREIGN|ABSENT)\(/ || text { text = text $0 }
text && /"\)$/ {
  kind = text ~ /^FOREIGN/
  sub(/^[A-Z]*\("/, "", text); sub(/"\)$/, "", text)
  gsub(/\\"/, "\001", text)
  split(text, part, /", *"/)
  gsub(/\001/, "\"", part[2])
  gsub(/\|/, "\\|", part[2])
  gsub(/ /, "`, `", part[1])
  print "| `" part[1] "` | " (kind ? "`" part[2] "`" : part[2]) " |"
  text = ""
}
>>>
$ awk -f rows.awk "$TEST_ROOT/passes/ops/foreign.def" > rows
> awk '/^## Names of operations/ { on = 1 } on && /^\| `/' "$TEST_ROOT/docs/coming-from.md" | diff rows - && wc -l < rows
175

== the dtype float32 as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = float32 %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: float32: there is no such operation; here it is %z = cast %x dtype=f32
? 2

== the dtype float64 as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = float64 %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: float64: there is no such operation; here it is %z = cast %x dtype=f64
? 2

== the dtype int32 as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = int32 %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: int32: there is no such operation; here it is %z = cast %x dtype=i32
? 2

== the dtype half as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = half %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: half: there is no such operation; here it is %z = cast %x dtype=f16
? 2

== the dtype uint8 as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = uint8 %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: uint8: there is no such operation; here it is %z = cast %x dtype=u8
? 2

== the dtype boolean as an operation
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = boolean %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: boolean: there is no such operation; here it is %z = cast %x dtype=bool
? 2

== the spec of a shard
<<< a.vf
mesh @m [x=2]
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = shard %s spec=[x,-]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:3: error: shard: there is no attribute spec; attributes: to; here that is to=[x,-]
? 2

== an axis of the mesh as one of the value
<<< a.vf
mesh @m [x=2]
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = all_reduce %s axis=x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:3: error: all_reduce: there is no axis 'x'; x has shape f32[4,4]; x is an axis of the mesh, as in over=[x]
? 2

== the path of an array
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = data path="x.npy"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: data: there is no attribute path; attributes: shape, values, dtype; here that is file="w.npy", with name="w" where the file holds several
? 2

== a transposed operand
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = matmul %x, %x transpose_b=true
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: matmul: there is no attribute transpose_b; attributes: none; here that is permute %x order=[1,0] before it
? 2

== a pattern
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = rearrange %x pattern="a b -> b a"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: rearrange: there is no attribute pattern; attributes: from, to, reduce; here that is from="ab" to="ba", the two sides of the arrow
? 2

== an element of an axis
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = getitem %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: getitem: there is no such operation; a position of an axis is `point %x axis=0 index=1`, a range `shrink %x bounds=[[1,3],[0,4]]`
? 2

== a comparison
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = compare %x, 1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: compare: there is no such operation; lt, le, gt, ge, eq and ne compare, as in `%z = lt %x, %y`
? 2

== an array of a file
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = load %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: load: there is no such operation; an array of a file is a constant: `%w = data file="w.npy"`
? 2

== a reference
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = ref_set %x, 1.0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: ref_set: there is no such operation; a reference is written by defining its name again, as in `%r = mul %r, 2.0`
? 2

== one of several results
<<< a.vf
graph @g(%x: f32[4,3], %s: f32[4,4]) {
  %y = get_tuple_element %x index=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: get_tuple_element: there is no such operation; several results are named where they are made: %a, %b = split %x parts=2
? 2
