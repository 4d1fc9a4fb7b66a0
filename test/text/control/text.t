# Control flow as text: what is printed, what reads back, which graph is meant.
<<< g.vf
graph @double(%x: f32[n=1..4]) {
  %y = mul %x, 2.0
  return %y
}
graph @neg(%x: f32[n=1..4]) {
  %y = neg %x
  return %y
}
graph @nest(%p: bool[], %x: f32[n=1..4]) {
  %y = cond %p, %x then=@double else=@neg
  %z = exp %y
  return %z
}
graph @plain(%p: bool[], %x: f32[n=1..4]) {
  return %x
}
graph @less(%i: i32[], %s: f32[]) {
  %p = lt %i, 10
  return %p
}
graph @step(%i: i32[], %s: f32[]) {
  %j = add %i, 1
  %t = mul %s, 1.5
  return %j, %t
}
graph @add(%c: f32[], %x: f32[]) {
  %s = add %c, %x
  return %s, %s
}
graph @main(%xs: f32[3], %v: f32[n=1..4], %p: bool[], %q: bool[]) {
  %c, %ys = scan 0, %xs do=@add reverse=true
  %w = cond %p, %q, %v then=@nest else=@plain
  %u = cond %p, %v then=@double else=@neg
  %i, %s = while 0, %c while=@less do=@step bound=20
  return %ys, %w, %u, %s
}
>>>

== functions are printed first, once each, after those that they call
$ viewfold dump --stage=graph g.vf
graph @main_f0(%a0: f32[], %a1: f32[]) {
  %0 = add %a0, %a1 : f32[]
  return %0, %0
}
graph @main_f1(%a0: f32[n=1..4]) {
  %0 = mul %a0, 2.0 : f32[n]
  return %0
}
graph @main_f2(%a0: f32[n=1..4]) {
  %0 = neg %a0 : f32[n]
  return %0
}
graph @main_f3(%a0: bool[], %a1: f32[n=1..4]) {
  %0 = cond %a0, %a1 then=@main_f1 else=@main_f2 : f32[n]
  %1 = exp %0 : f32[n]
  return %1
}
graph @main_f4(%a0: bool[], %a1: f32[n=1..4]) {
  return %a1
}
graph @main_f5(%a0: i32[], %a1: f32[]) {
  %0 = lt %a0, 10 : bool[]
  return %0
}
graph @main_f6(%a0: i32[], %a1: f32[]) {
  %0 = add %a0, 1 : i32[]
  %1 = mul %a1, 1.5 : f32[]
  return %0, %1
}
graph @main(%xs: f32[3], %v: f32[n=1..4], %p: bool[], %q: bool[]) {
  %0 = const value=0.0 dtype=f32 : f32[]
  %1, %ys = scan %0, %xs do=@main_f0 length=3 carries=1 sliced=1 reverse=true : f32[], f32[3]
  %w = cond %p, %q, %v then=@main_f3 else=@main_f4 : f32[n]
  %u = cond %p, %v then=@main_f1 else=@main_f2 : f32[n]
  %2 = const value=0 dtype=i32 : i32[]
  %3, %s = while_loop %2, %1 while=@main_f5 do=@main_f6 bound=20 carries=2 : i32[], f32[]
  return %ys, %w, %u, %s
}

== the printed text parses back to the same text
$ viewfold dump --stage=graph g.vf > one.vf
$ viewfold dump --stage=graph one.vf > two.vf
$ cmp one.vf two.vf && wc -l < two.vf
38

== a called graph may be run by name
$ viewfold run g.vf --graph double --in x=[1,2]
y: f32[2] = [2.0, 4.0]

== of several graphs that are not called, one must be chosen
<<< both.vf
graph @f(%x: f32[2]) { return %x }
graph @a(%p: bool[], %x: f32[2]) {
  %y = cond %p, %x then=@f else=@f
  return %y
}
graph @b(%x: f32[2]) { return %x }
>>>
$ viewfold run both.vf
! viewfold run: both.vf holds 2 graphs, @a, @b; choose one with --graph
! Try 'viewfold run --help'.
? 2

== an unused result keeps its place
<<< unused.vf
graph @f(%a: f32[2], %x: f32[3]) {
  %s = sum %x
  %b = add %a, %s
  return %b, %x, %s
}
graph @unused(%a: f32[2], %x: f32[n=1..9,3]) {
  %b, %xs, %ss = scan %a, %x do=@f
  return %ss
}
>>>
$ viewfold dump --stage=graph unused.vf
graph @unused_f0(%a0: f32[2], %a1: f32[3]) {
  %0 = sum %a1 axes=[0] : f32[]
  %1 = reshape %0 shape=[1] : f32[1]
  %2 = expand %1 shape=[2] : f32[2]
  %3 = add %a0, %2 : f32[2]
  return %3, %a1, %0
}
graph @unused(%a: f32[2], %x: f32[n=1..9,3]) {
  %0, %1, %ss = scan %a, %x do=@unused_f0 length=n carries=1 sliced=1 : f32[2], f32[n,3], f32[n]
  return %ss
}

== a called graph's symbolic sizes are also its caller's
<<< sizes.vf
graph @ones(%x: f32[]) {
  %t = ones shape=[n=2..5]
  %y = mul %t, %x
  return %y
}
graph @twos(%x: f32[]) {
  %t = full shape=[n=2..5] value=2.0
  return %t
}
graph @sizes(%p: bool[], %x: f32[]) {
  %y = cond %p, %x then=@ones else=@twos
  %i = iota shape=[n] dtype=f32
  %z = add %y, %i
  return %z
}
>>>
$ viewfold dump --stage=graph sizes.vf
graph @sizes_f0(%a0: f32[]) {
  %0 = const value=1.0 dtype=f32 : f32[]
  %1 = reshape %0 shape=[1] : f32[1]
  %2 = expand %1 shape=[n=2..5] : f32[n]
  %3 = reshape %a0 shape=[1] : f32[1]
  %4 = expand %3 shape=[n] : f32[n]
  %5 = mul %2, %4 : f32[n]
  return %5
}
graph @sizes_f1(%a0: f32[]) {
  %0 = const value=2.0 dtype=f32 : f32[]
  %1 = reshape %0 shape=[1] : f32[1]
  %2 = expand %1 shape=[n=2..5] : f32[n]
  return %2
}
graph @sizes(%p: bool[], %x: f32[]) {
  %0 = cond %p, %x then=@sizes_f0 else=@sizes_f1 : f32[n=2..5]
  %1 = iota shape=[n] axis=0 dtype=f32 : f32[n]
  %z = add %0, %1 : f32[n]
  return %z
}
