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
159
