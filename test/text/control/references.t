# References in functions of text graphs: what is written is printed as values, and run.
<<< f.vf
graph @bump(%a: ref f32[4], %u: f32[2]) {
  %p = address %a
  %s = shrink %p bounds=[[1,3]]
  %old = sum %a
  %a = assign %a, %s, %u op=add
  return %old
}
graph @read(%a: f32[4], %u: f32[2]) {
  %s = sum %u
  return %s
}
graph @set(%a: ref f32[4], %u: f32[2]) {
  %p = address %a
  %s = shrink %p bounds=[[0,2]]
  %a = assign %a, %s, %u
  return
}
graph @less(%k: i32[], %a: f32[4], %u: f32[2]) {
  %c = lt %k, 3
  return %c
}
graph @round(%k: i32[], %a: ref f32[4], %u: f32[2]) {
  call %a, %u do=@set
  %s = call %a, %u do=@bump
  %n = add %k, 1
  return %n
}
graph @each(%a: ref f32[4], %u: f32[2]) {
  call %a, %u do=@set
  %m = sum %a
  return %m
}
graph @main(%a: ref f32[4], %u: f32[2], %b: bool[], %us: f32[3,2]) {
  %o = cond %b, %a, %u then=@bump else=@read
  cond %b, %a, %u then=@set else=@set
  %k = while_loop 0, %a, %u while=@less do=@round carries=2
  %ms = scan %a, %us do=@each
  return %o, %k, %ms
}
>>>

== every call leaves the newest version
$ viewfold run f.vf --in 'a=[1,2,3,4]' --in 'u=[10,20]' --in b=true --in 'us=[[1,2],[3,4],[5,6]]'
o: f32[] = 10.0
k: i32[] = 3
ms: f32[3] = [90.0, 94.0, 98.0]
a: f32[4] = [5.0, 6.0, 83.0, 4.0]
$ viewfold run --check f.vf --in 'a=[1,2,3,4]' --in 'u=[10,20]' --in b=false --in 'us=[[1,2],[3,4],[5,6]]'
o: f32[] = 30.0
k: i32[] = 3
ms: f32[3] = [70.0, 74.0, 78.0]
a: f32[4] = [5.0, 6.0, 63.0, 4.0]
check o: 1 element, bit-equal
check k: 1 element, bit-equal
check ms: 3 elements, bit-equal
check a: 4 elements, bit-equal

== functions are printed as functions of values, and read back as the same text
$ viewfold dump --stage=graph f.vf > once.vf && viewfold dump --stage=graph once.vf > twice.vf && cmp once.vf twice.vf && sed -n '/@main(/,$p' once.vf
graph @main(%a: ref f32[4], %u: f32[2], %b: bool[], %us: f32[3,2]) {
  %o, %0 = cond %b, %a, %u then=@main_f0 else=@main_f1 : f32[], f32[4]
  %1 = iota shape=[4] axis=0 dtype=i64 : i64[4]
  %2 = shrink %1 bounds=[[0,2]] : i64[2]
  %3 = assign %0, %2, %u : f32[4]
  %4 = const value=0 dtype=i32 : i32[]
  %k, %5 = while_loop %4, %3, %u while=@main_f2 do=@main_f4 carries=2 : i32[], f32[4]
  %6, %ms = scan %5, %us do=@main_f5 length=3 carries=1 sliced=1 : f32[4], f32[3]
  %a = %6 : f32[4]
  return %o, %k, %ms
}

== a function that only reads a reference takes values
<<< read.vf
graph @f(%a: ref f32[4]) {
  %s = sum %a
  return %s
}
graph @g(%x: f32[4]) {
  %s = call %x do=@f
  return %s
}
>>>
$ viewfold run read.vf --in 'x=[1,2,3,4]'
s: f32[] = 10.0

== two references change places in every round
<<< swap.vf
graph @swap(%a: ref i32[2], %b: ref i32[2], %x: i32[]) {
  %t = %a
  %a = %b
  %b = add %t, %x
  return
}
graph @g(%a: ref i32[2], %b: ref i32[2], %xs: i32[3]) {
  scan %a, %b, %xs do=@swap reverse=true
  return
}
>>>
$ viewfold run --check swap.vf --in 'a=[1,2]' --in 'b=[30,40]' --in 'xs=[100,200,300]'
a: i32[2] = [230, 240]
b: i32[2] = [401, 402]
check a: 2 elements, bit-equal
check b: 2 elements, bit-equal
$ viewfold run swap.vf --in 'a=[1,2]' --in 'b=[30,40]' --in 'xs=[100,200,300]'
a: i32[2] = [230, 240]
b: i32[2] = [401, 402]

== a read of before the call is of the older version
<<< old.vf
graph @zero(%a: ref f32[3]) {
  %p = address %a
  %a = assign %a, %p, 0
  return
}
graph @g(%a: ref f32[3]) {
  %old = mul %a, 2
  call %a do=@zero
  return %old
}
>>>
$ viewfold run old.vf --in 'a=[1,2,3]'
old: f32[3] = [2.0, 4.0, 6.0]
a: f32[3] = [0.0, 0.0, 0.0]
