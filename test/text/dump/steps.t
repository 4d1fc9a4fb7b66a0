# Steps of control flow: their nesting, where each value lies, and why.

== a cond in a scan
<<< main.vf
graph @keep(%t: f32[4], %x: f32[4]) {
  %a = mul %t, 0.5
  return %a, %x
}
graph @drop(%t: f32[4], %x: f32[4]) {
  %a = add %t, %x
  return %a, %a
}
graph @step(%s: f32[4], %x: f32[4], %k: f32[]) {
  %t = add %s, %x
  %m = max %t
  %c = gt %m, %k
  %r, %q = cond %c, %t, %x then=@keep else=@drop
  return %r, %q
}
graph @main(%s: f32[4], %xs: f32[n=1..100,4], %k: f32[]) {
  %s2 = mul %s, 2.0
  %last, %all = scan %s2, %xs, %k do=@step carries=1 sliced=1
  %out = add %last, %s2
  return %out, %all
}
>>>
$ viewfold dump --stage=kernels main.vf
graph @main: 6 kernels, 5 temporaries
\
kernel 0 -> temporary 0 f32[4]
  fuses   mul
  reads   %s f32[4], in 1 place
  threads share a loop of 1; work about 36 (bytes and operations)
\
scan, trip count n
  carries moving 0 f32[4] from temporary 0 f32[4] to temporary 1 f32[4], written to moving 1 f32[4], alternating with temporary 2 f32[4]
  moves   moving 2 f32[4] along %xs f32[n,4]
  moves   moving 3 f32[4] along %all f32[n,4]
  do
\
    kernel 1 -> temporary 3 f32[4]
      fuses   add
      reads   moving 2 f32[4], in 1 place
      reads   moving 0 f32[4], in 1 place
      threads share a loop of 1; work about 52 (bytes and operations)
\
    kernel 2 -> temporary 4 bool[]
      fuses   max gt
      reads   %k f32[], in 1 place
      reads   temporary 3 f32[4], in 1 place
      threads share a loop of 1; work about 44 (bytes and operations)
\
    cond of temporary 4 bool[]
      writes  moving 1 f32[4], moving 3 f32[4]
      then
\
        kernel 3 -> moving 1 f32[4]
          fuses   mul
          reads   temporary 3 f32[4], in 1 place
          threads share a loop of 1; work about 36 (bytes and operations)
\
        copy -> moving 3 f32[4]
          reads   moving 2 f32[4]
      else
\
        kernel 4 -> moving 1 f32[4]
          fuses   add
          reads   moving 2 f32[4], in 1 place
          reads   temporary 3 f32[4], in 1 place
          threads share a loop of 1; work about 52 (bytes and operations)
\
        copy -> moving 3 f32[4]
          reads   moving 1 f32[4]
\
kernel 5 -> %out f32[4]
  fuses   add
  reads   temporary 0 f32[4], in 1 place
  reads   temporary 1 f32[4], in 1 place
  threads share a loop of 1; work about 52 (bytes and operations)

$ viewfold dump --stage=loops main.vf | grep -E '^(#|kernel)'
\# kernel 0 nest 0: split a0 4; vector a0.1
kernel @main_0(p0: f32[4], p1: f32[4]) {
\# in scan: do
\# kernel 1 nest 0: split a0 4; vector a0.1
kernel @main_1(p0: f32[4], p1: f32[4], p2: f32[4]) {
\# in scan: do
\# kernel 2 nest 0:
kernel @main_2(p0: bool[1], p1: f32[1], p2: f32[4]) {
\# in scan: do, in cond: then
\# kernel 3 nest 0: split a0 4; vector a0.1
kernel @main_3(p0: f32[4], p1: f32[4]) {
\# in scan: do, in cond: else
\# kernel 4 nest 0: split a0 4; vector a0.1
kernel @main_4(p0: f32[4], p1: f32[4], p2: f32[4]) {
\# kernel 5 nest 0: split a0 4; vector a0.1
kernel @main_5(p0: f32[4], p1: f32[4], p2: f32[4]) {

$ viewfold explain --no-run main.vf | grep -E 'why|kernel '
kernel 0 -> temporary 0 f32[4]
  why     stored and not fused: control flow takes its operands from memory
    kernel 1 -> temporary 3 f32[4]
      why     stored and not fused: control flow takes its operands from memory
    kernel 2 -> temporary 4 bool[]
      why     stored and not fused: control flow takes its operands from memory
        kernel 3 -> moving 1 f32[4]
          why     a kernel of its own, because it is a result of its function
        kernel 4 -> moving 1 f32[4]
          why     a kernel of its own, because it is a result of its function
kernel 5 -> %out f32[4]
  why     a kernel of its own, because it is a result

== a while loop that shifts its state
<<< fibonacci.vf
graph @below(%a: i32[], %b: i32[], %top: i32[]) {
  %c = lt %b, %top
  return %c
}
graph @next(%a: i32[], %b: i32[], %top: i32[]) {
  %s = add %a, %b
  return %b, %s
}
graph @fibonacci(%top: i32[]) {
  %a, %b = while_loop 0, 1, %top while=@below do=@next carries=2 bound=50
  return %a, %b
}
>>>
$ viewfold dump --stage=kernels fibonacci.vf
graph @fibonacci: 4 kernels, 5 temporaries
\
kernel 0 -> temporary 0 i32[]
  fuses   nothing: a constant
  threads share a loop of 1; work about 4 (bytes and operations)
\
kernel 1 -> temporary 1 i32[]
  fuses   nothing: a constant
  threads share a loop of 1; work about 4 (bytes and operations)
\
while temporary 4 bool[], trip count at most 50
  carries moving 0 i32[] from temporary 0 i32[] to %a i32[], written to moving 1 i32[], alternating with temporary 2 i32[]
  carries moving 2 i32[] from temporary 1 i32[] to %b i32[], written to moving 3 i32[], alternating with temporary 3 i32[]
  while
\
    kernel 2 -> temporary 4 bool[]
      fuses   lt
      reads   %top i32[], in 1 place
      reads   moving 2 i32[], in 1 place
      threads share a loop of 1; work about 10 (bytes and operations)
  do
\
    kernel 3 -> moving 3 i32[]
      fuses   add
      reads   moving 2 i32[], in 1 place
      reads   moving 0 i32[], in 1 place
      threads share a loop of 1; work about 13 (bytes and operations)
\
    copy -> moving 1 i32[]
      reads   moving 2 i32[]
