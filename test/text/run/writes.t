# Writes through views, and references. test/conform/writes.py compares random programs with NumPy.
<<< column.vf
graph @column(%x: f32[4,3], %u: f32[2]) {
  %p = address %x
  %c = permute %p order=[1,0]
  %t = shrink %c bounds=[[1,2],[0,4]]
  %s = stride %t steps=[1,2]
  %y = assign %x, %s, %u op=add
  return %y
}
>>>
<<< batch.vf
graph @batch(%x: f32[2,4,3], %u: f32[2,3], %i: i64[2,2]) {
  %xb = batch %x axis=0 level=1
  %ub = batch %u axis=0 level=1
  %ib = batch %i axis=0 level=1
  %p = address %xb
  %t = permute %p order=[1,0]
  %s = point %t index=1 axis=1
  %a = assign %xb, %s, %ub
  %g = gather %p, %ib axis=0
  %b = assign %a, %g, %ub op=add
  %y = unbatch %b size=2 axis=0 level=1
  return %y
}
>>>
<<< old.vf
graph @old(%a: ref f32[8], %u: f32[3]) {
  %p = address %a
  %s = shrink %p bounds=[[2,5]]
  %old = %a
  %a = assign %a, %s, %u
  %f = flip %p axes=[0]
  %h = shrink %f bounds=[[0,3]]
  %a = assign %a, %h, %u op=add
  %e = sum %old
  return %e
}
>>>
<<< shift.vf
graph @shift(%a: ref f32[9]) {
  %p = address %a
  %v = shrink %a bounds=[[0,8]]
  %s = shrink %p bounds=[[1,9]]
  %a = assign %a, %s, %v op=add
  return
}
>>>
<<< swap.vf
graph @swap(%a: ref i32[2], %b: ref i32[2]) {
  %t = %a
  %a = %b
  %b = %t
  return
}
>>>
<<< evens.vf
graph @evens(%a: ref f32[4096,64]) {
  %p = address %a
  %e = stride %p steps=[1,2]
  %o = shrink %a bounds=[[0,4096],[1,64]]
  %v = stride %o steps=[1,2]
  %a = assign %a, %e, %v
  return
}
>>>
<<< loop.vf
graph @body(%s: f32[5], %i: i64[]) {
  %p = address %s
  %g = gather %p, %i axis=0
  %n = assign %s, %g, 7
  return %n
}
graph @loop(%x: f32[5], %at: i64[3]) {
  %y = scan %x, %at do=@body carries=1 sliced=1 length=3
  return %y
}
>>>

<<< steps.vf
graph @keep(%x: f32[4], %y: f32[4]) {
  %z = add %x, %y
  return %z
}
graph @write(%x: f32[4], %y: f32[4]) {
  %p = address %x
  %s = shrink %p bounds=[[1,3]]
  %z = assign %x, %s, 5
  return %z
}
graph @steps(%a: ref f32[4], %u: f32[4], %b: bool[]) {
  %p = address %a
  %s = shrink %p bounds=[[0,2]]
  %v = shrink %u bounds=[[2,4]]
  %old = %a
  %a = assign %a, %s, %v
  %sorted = sort %old descending=true
  %n = neg %a
  %m = assign %n, %s, %v op=mul
  %c = cond %b, %m, %old then=@write else=@keep
  %a = assign %a, %p, %c op=add
  return %sorted, %m
}
>>>
<<< sort.vf
graph @sort(%a: ref f32[4], %u: f32[2]) {
  %p = address %a
  %s = shrink %p bounds=[[0,2]]
  %old = %a
  %a = assign %a, %s, %u
  %sorted = sort %old descending=true
  return %sorted
}
>>>
<<< choice.vf
graph @same(%x: f32[4]) {
  return %x
}
graph @zeros(%x: f32[4]) {
  %z = sub %x, %x
  return %z
}
graph @choice(%a: f32[4], %u: f32[2], %b: bool[]) {
  %p = address %a
  %s = shrink %p bounds=[[0,2]]
  %n = neg %a
  %m = assign %n, %s, %u
  %c = cond %b, %n then=@same else=@zeros
  %t = assign %c, %s, %u op=add
  return %m, %t
}
>>>
<<< self.vf
graph @self(%a: ref i64[6]) {
  %p = address %a
  %t = shrink %p bounds=[[2,6]]
  %i = shrink %a bounds=[[0,4]]
  %g = gather %t, %i
  %a = assign %a, %g, 3
  return
}
>>>
<<< while.vf
graph @more(%s: f32[6], %k: i32[]) {
  %c = lt %k, 4
  return %c
}
graph @next(%s: f32[6], %k: i32[]) {
  %p = address %s
  %h = shrink %p bounds=[[1,6]]
  %v = shrink %s bounds=[[0,5]]
  %t = assign %s, %h, %v op=add
  %j = add %k, 1
  return %t, %j
}
graph @repeat(%x: f32[6]) {
  %y, %k = while_loop %x, 0 while=@more do=@next
  return %y
}
>>>

== every second element of a column
$ viewfold run column.vf --in x=[[0,0,0],[0,0,0],[0,0,0],[0,0,0]] --in u=[1,2] --check
y: f32[4,3] = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
check y: 12 elements, bit-equal

== the same for each element of a batch, with positions of its own
$ viewfold run batch.vf --in 'x=[[[0,0,0],[0,0,0],[0,0,0],[0,0,0]],[[0,0,0],[0,0,0],[0,0,0],[0,0,0]]]' --in 'u=[[1,2,3],[4,5,6]]' --in 'i=[[0,0],[1,3]]' --check
y: f32[2,4,3] min 0.0 max 12.0 mean 2.625 first 2.0 4.0 6.0 1.0 2.0 3.0 ...
check y: 24 elements, bit-equal

== what was read before stays, and is computed before the memory changes
$ viewfold run old.vf --in a=[1,2,3,4,5,6,7,8] --in u=[10,20,30] --check
e: f32[] = 36.0
a: f32[8] = [1.0, 2.0, 10.0, 20.0, 30.0, 36.0, 27.0, 18.0]
check e: 1 element, bit-equal
check a: 8 elements, bit-equal
$ viewfold dump --stage=kernels old.vf | grep '^kernel'
kernel 0 -> %e f32[]
kernel 1 -> %a f32[8]
kernel 2 -> %a f32[8]

== text that reads back the same
$ viewfold dump --stage=graph old.vf > again.vf
$ cat again.vf
graph @old(%a: ref f32[8], %u: f32[3]) {
  %0 = iota shape=[8] axis=0 dtype=i64 : i64[8]
  %1 = shrink %0 bounds=[[2,5]] : i64[3]
  %2 = assign %a, %1, %u : f32[8]
  %3 = flip %0 axes=[0] : i64[8]
  %4 = shrink %3 bounds=[[0,3]] : i64[3]
  %5 = assign %2, %4, %u op=add : f32[8]
  %e = sum %a axes=[0] : f32[]
  %a = %5 : f32[8]
  return %e
}
$ viewfold dump --stage=graph again.vf | diff again.vf -

== a source that overlaps its target acts as if it had been copied first
$ viewfold run shift.vf --in a=[1,1,1,1,1,1,1,1,1] --check
a: f32[9] = [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
check a: 9 elements, bit-equal
$ viewfold dump --stage=kernels shift.vf | grep '^kernel'
kernel 0 -> %a f32[9]

== a swap
$ viewfold run swap.vf --in a=[1,2] --in b=[3,4] --check
a: i32[2] = [3, 4]
b: i32[2] = [1, 2]
check a: 2 elements, bit-equal
check b: 2 elements, bit-equal

== disjoint columns need no copy
$ viewfold dump --stage=kernels evens.vf | grep '^kernel'
kernel 0 -> %a f32[4096,64]
$ viewfold explain --no-run evens.vf | grep 'why\|moves'
  why     updates in place an array that nothing else needs any more
  moves   524288 bytes to read, 524288 to write; 0 operations as written

== in a loop
$ viewfold run loop.vf --in x=[0,0,0,0,0] --in at=[1,-1,1] --check
y: f32[5] = [0.0, 7.0, 0.0, 0.0, 7.0]
check y: 5 elements, bit-equal
$ viewfold run loop.vf --in x=[0,0,0,0,0] --in at=[1,5,1]
! viewfold run: graph @loop: gather %p, %i axis=0: %i is 5, but axis 0 of %p has 5 elements (loop.vf:3); indices are -5 to 4, or any with mode="clip" or mode="fill". The results are unspecified
? 2
$ viewfold dump --stage=kernels loop.vf | grep 'carries\|kernel'
graph @loop: 1 kernel, 1 temporary
  carries moving 0 f32[5] from %x f32[5] to %y f32[5], in place
  for     %y = scan %x, %at do=@body carries=1 sliced=1 length=3 (line 8)
    kernel 0 -> moving 0 f32[5]

== sorts and functions read older versions
$ viewfold run steps.vf --in a=[1,2,3,4] --in u=[5,6,7,8] --in b=true --check
sorted: f32[4] = [4.0, 3.0, 2.0, 1.0]
m: f32[4] = [-49.0, -64.0, -3.0, -4.0]
a: f32[4] = [-42.0, 13.0, 8.0, 0.0]
check sorted: 4 elements, bit-equal
check m: 4 elements, bit-equal
check a: 4 elements, bit-equal
$ viewfold run steps.vf --in a=[1,2,3,4] --in u=[5,6,7,8] --in b=false --check
sorted: f32[4] = [4.0, 3.0, 2.0, 1.0]
m: f32[4] = [-49.0, -64.0, -3.0, -4.0]
a: f32[4] = [-41.0, -54.0, 3.0, 4.0]
check sorted: 4 elements, bit-equal
check m: 4 elements, bit-equal
check a: 4 elements, bit-equal

$ viewfold run sort.vf --in a=[1,2,3,4] --in u=[5,6] --check
sorted: f32[4] = [4.0, 3.0, 2.0, 1.0]
a: f32[4] = [5.0, 6.0, 3.0, 4.0]
check sorted: 4 elements, bit-equal
check a: 4 elements, bit-equal
$ viewfold run choice.vf --in a=[1,2,3,4] --in u=[5,6] --in b=true --check
m: f32[4] = [5.0, 6.0, -3.0, -4.0]
t: f32[4] = [4.0, 4.0, -3.0, -4.0]
check m: 4 elements, bit-equal
check t: 4 elements, bit-equal
$ viewfold run choice.vf --in a=[1,2,3,4] --in u=[5,6] --in b=false --check
m: f32[4] = [5.0, 6.0, -3.0, -4.0]
t: f32[4] = [5.0, 6.0, 0.0, 0.0]
check m: 4 elements, bit-equal
check t: 4 elements, bit-equal

== indices read from the target
$ viewfold run self.vf --in a=[3,0,1,1,7,8] --check
a: i64[6] = [3, 0, 3, 3, 7, 3]
check a: 6 elements, bit-equal
$ viewfold dump --stage=kernels self.vf | grep '^kernel'
kernel 0 -> %i i64[4]
kernel 1 -> %a i64[6]

== a while loop that reads what it changes
$ viewfold run while.vf --in x=[1,0,0,0,0,0] --check
y: f32[6] = [1.0, 4.0, 6.0, 4.0, 1.0, 0.0]
check y: 6 elements, bit-equal
$ viewfold dump --stage=kernels while.vf | grep 'carries\|kernel'
graph @repeat: 4 kernels, 5 temporaries
kernel 0 -> temporary 0 i32[]
  carries moving 0 f32[6] from %x f32[6] to %y f32[6], in place
  carries moving 2 i32[] from temporary 0 i32[] to temporary 2 i32[], written to moving 3 i32[], alternating with temporary 3 i32[]
    kernel 1 -> %c bool[]
    kernel 2 -> moving 0 f32[6]
    kernel 3 -> moving 3 i32[]

== of two writes of one value, only the later one may change its memory
<<< twice.vf
graph @twice(%x: i32[4], %i: i32[1], %k: i32[3]) {
  %m = and %x, 63
  %v = stored %m
  %a = scatter_add %v, %k, %k axis=0 mode=clip
  %b = scatter_add %v, %i, %i axis=0 mode=clip
  %s = sub %a, %b
  return %s
}
>>>
$ viewfold run twice.vf --in 'x=[1,2,3,4]' --in 'i=[1]' --in 'k=[0,2,3]' --check
s: i32[4] = [0, -1, 2, 3]
check s: 4 elements, bit-equal

== what is read in one branch of a condition is not read in the other, where that one writes it
<<< branches.vf
graph @body(%x0: u64[2,6], %x1: u64[5,6], %x2: i64[2], %x3: i64[1]) {
  %0 = iota shape=[12] axis=0 dtype=i64 : i64[12]
  %1 = reshape %0 shape=[2,6] : i64[2,6]
  %2 = unsqueeze %x0 axis=0 : u64[1,2,6]
  %3 = scatter_add %x0, %x2, %x0 axis=0 : u64[2,6]
  %4 = shrink %2 bounds=[[0,1],[1,2],[2,6]] : u64[1,1,4]
  %5 = stride %4 steps=[1,1,3] : u64[1,1,2]
  %6 = shrink %2 bounds=[[0,1],[1,2],[3,5]] : u64[1,1,2]
  %7 = stride %6 steps=[1,2,1] : u64[1,1,2]
  %8 = max %5, %7 : u64[1,1,2]
  %9 = unsqueeze %1 axis=0 : i64[1,2,6]
  %10 = shrink %9 bounds=[[0,1],[1,2],[1,3]] : i64[1,1,2]
  %11 = stride %10 steps=[2,2,1] : i64[1,1,2]
  %12 = shrink %2 bounds=[[0,1],[1,2],[1,3]] : u64[1,1,2]
  %13 = stride %12 steps=[2,2,1] : u64[1,1,2]
  %14 = max %13, %8 : u64[1,1,2]
  %y3 = assign %x0, %11, %14 : u64[2,6]
  %15 = unsqueeze %3 axis=0 : u64[1,2,6]
  %16 = shrink %15 bounds=[[0,1],[1,2],[1,5]] : u64[1,1,4]
  %17 = stride %16 steps=[1,1,3] : u64[1,1,2]
  %18 = permute %17 order=[0,2,1] : u64[1,2,1]
  %19 = shrink %18 bounds=[[0,1],[1,2],[0,1]] : u64[1,1,1]
  %20 = reshape %19 shape=[1,1] : u64[1,1]
  %21 = expand %20 shape=[1,6] : u64[1,6]
  %y4 = scatter_add %x1, %x3, %21 axis=0 : u64[5,6]
  %22 = max %y4 axes=[1] keepdims=true : u64[5,1]
  %23 = expand %22 shape=[5,6] : u64[5,6]
  %y1 = sub %y4, %23 : u64[5,6]
  %y0 = %x1 : u64[5,6]
  %y2 = %x1 : u64[5,6]
  return %y3, %y4
}
graph @other(%x0: u64[2,6], %x1: u64[5,6], %x2: i64[2], %x3: i64[1]) {
  %f0 = flip %x0 axes=[0]
  %f1 = flip %x1 axes=[0]
  return %f0, %f1
}
graph @loop(%x0: u64[2,6], %x1: u64[5,6], %x2: i64[2], %x3: i64[1], %p: bool[]) {
  %z0 = flip %x0 axes=[0]
  %s0, %s1 = cond %p, %z0, %x1, %x2, %x3 then=@body else=@other
  return %s0, %s1
}
>>>
$ viewfold run branches.vf --graph loop --in 'x0=[[6,1,6,8,4,6],[4,2,4,6,4,3]]' --in 'x1=[[1,2,3,4,5,6],[6,5,4,3,2,1],[1,1,1,1,1,1],[2,2,2,2,2,2],[3,3,3,3,3,3]]' --in 'x2=[0,1]' --in 'x3=[1]' --in p=true
s0: u64[2,6] = [[4, 2, 4, 6, 4, 3], [6, 8, 6, 8, 4, 6]]
s1: u64[5,6] min 1 max 14 mean 4.2 first 1 2 3 4 5 6 ...
