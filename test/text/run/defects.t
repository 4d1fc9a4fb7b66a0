# Writes that other array systems are known to get wrong, one case for each kind of defect. Wanted values are NumPy's for the
# statements in the titles, written down here. An aliased pair of inputs: test/unit/test_writes.c.
<<< windows.vf
graph @windows(%a: ref f32[8]) {
  %p = address %a
  %w0 = shrink %p bounds=[[0,4]]
  %w1 = shrink %p bounds=[[2,6]]
  %w2 = shrink %p bounds=[[4,8]]
  %a = assign %a, %w0, 1 op=add
  %a = assign %a, %w1, 10 op=add
  %a = assign %a, %w2, 100 op=add
  return
}
>>>
<<< expanded.vf
graph @expanded(%a: ref f32[6], %u: f32[5,2]) {
  %p = address %a
  %i = data values=[[0,1],[1,2],[2,3],[3,4],[4,5]]
  %w = gather %p, %i
  %a = assign %a, %w, %u op=add
  return
}
>>>
<<< versions.vf
graph @versions(%a: ref f32[4]) {
  %p = address %a
  %left = shrink %p bounds=[[0,2]]
  %right = shrink %p bounds=[[2,4]]
  %zero = %a
  %one = assign %a, %left, 7
  %a = assign %one, %right, 8
  return %zero, %one
}
>>>
<<< hoisted.vf
graph @hoisted(%a: ref f32[2,2], %b: ref f32[2,2]) {
  %p = address %a
  %row = point %p index=0 axis=0
  %before = sum %a axes=[1]
  %a = assign %a, %row, 0
  %after = sum %a axes=[1]
  %q = address %b
  %col = point %q index=1 axis=1
  %b = assign %b, %col, %before
  return %before, %after
}
>>>
<<< both.vf
graph @both(%a: ref f32[64,64], %i: i64[2], %u: f32[2,64], %w: f32[2,64]) {
  %p = address %a
  %s = shrink %p bounds=[[4,6],[0,64]]
  %a = assign %a, %s, %u
  %g = gather %p, %i axis=0
  %a = assign %a, %g, %w
  return
}
>>>
<<< loop.vf
graph @step(%s: f32[4096], %i: i64[]) {
  %p = address %s
  %d = index_point %i
  %t = create_view %p, %d
  %o = create_view %s, %d
  %v = add %o, 1
  %n = assign %s, %t, %v
  return %n
}
graph @loop(%x: f32[4096], %at: i64[4096]) {
  %y = scan %x, %at do=@step carries=1 sliced=1 length=4096
  return %y
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
<<< end.vf
graph @end(%a: ref f32[5], %u: f32[0]) {
  %p = address %a
  %d = index_interval 5, 5, 1, false
  %e = create_view %p, %d
  %a = assign %a, %e, %u
  %f = index_interval 9, 9, 1, false
  %g = create_view %p, %f
  %a = assign %a, %g, 3 op=add
  %y = create_view %a, %f
  return %y
}
>>>
<<< parts.vf
graph @parts(%a: ref f32[4,3]) {
  %p = address %a
  %r0, %r1, %r2, %r3 = unbind %p axis=0
  %s0, %s1, %s2 = split %p parts=3 axis=1
  %a = assign %a, %r1, 5
  %a = assign %a, %s0, 2 op=mul
  %b0, %b1, %b2 = split %a parts=3 axis=1
  %a = assign %a, %s2, %b1 op=sub
  return
}
>>>

== overlapping windows: a[0:4] += 1; a[2:6] += 10; a[4:8] += 100
$ viewfold run windows.vf --in a=[0,0,0,0,0,0,0,0] --check
a: f32[8] = [1.0, 1.0, 11.0, 11.0, 110.0, 110.0, 100.0, 100.0]
check a: 8 elements, bit-equal

== overlapping windows that are one view: elements named twice are added to twice
$ viewfold run expanded.vf --in a=[0,0,0,0,0,0] --in u=[[1,1],[1,1],[1,1],[1,1],[1,1]] --check
a: f32[6] = [1.0, 2.0, 2.0, 2.0, 2.0, 1.0]
check a: 6 elements, bit-equal

== two writes, and what was read before each: z = a.copy(); a[:2] = 7; o = a.copy(); a[2:] = 8
$ viewfold run versions.vf --in a=[1,2,3,4] --check
zero: f32[4] = [1.0, 2.0, 3.0, 4.0]
one: f32[4] = [7.0, 7.0, 3.0, 4.0]
a: f32[4] = [7.0, 7.0, 8.0, 8.0]
check zero: 4 elements, bit-equal
check one: 4 elements, bit-equal
check a: 4 elements, bit-equal

== reads before and behind a write, written elsewhere: before = a.sum(1); a[0] = 0; after = a.sum(1); b[:,1] = before
$ viewfold run hoisted.vf --in a=[[1,2],[3,4]] --in b=[[0,0],[0,0]] --check
before: f32[2] = [3.0, 7.0]
after: f32[2] = [0.0, 7.0]
a: f32[2,2] = [[0.0, 0.0], [3.0, 4.0]]
b: f32[2,2] = [[0.0, 3.0], [0.0, 7.0]]
check before: 2 elements, bit-equal
check after: 2 elements, bit-equal
check a: 4 elements, bit-equal
check b: 4 elements, bit-equal

== a slice, then indices: a[4:6] = u; a[i] = w, without a copy
$ viewfold dump --stage=kernels both.vf | grep '^kernel\|^graph'
graph @both: 2 kernels, 2 temporaries
kernel 0 -> %a f32[64,64]
kernel 1 -> %a f32[64,64]
$ viewfold explain --no-run both.vf | grep moves
  moves   512 bytes to read, 512 to write; 0 operations as written
  moves   528 bytes to read, 512 to write; 0 operations as written

== a[i] += 1 in a loop of n rounds over n elements moves one element a round
$ viewfold dump --stage=kernels loop.vf | grep 'carries\|kernel'
graph @loop: 2 kernels, 2 temporaries
  carries moving 0 f32[4096] from %x f32[4096] to %y f32[4096], in place
  for     %y = scan %x, %at do=@step carries=1 sliced=1 length=4096 (line 11)
    kernel 0 -> temporary 1 of %y i64[]
              %y = scan %x, %at do=@step carries=1 sliced=1 length=4096 (line 11)
    kernel 1 -> moving 0 f32[4096]
$ viewfold explain --no-run loop.vf | grep moves
  moves   moving 2 i64[] along %at i64[4096]
      moves   8 bytes to read, 8 to write; 0 operations as written
      moves   12 bytes to read, 4 to write; 1 operations as written

== indices read from the target: a[2:][a[:-2]] = 3
$ viewfold run self.vf --in a=[3,0,1,1,7,8] --check
a: i64[6] = [3, 0, 3, 3, 7, 3]
check a: 6 elements, bit-equal

== empty slices from the end on and past it: a[5:5] = u; a[9:9] += 3
$ viewfold run end.vf --in a=[1,2,3,4,5] --in u=[] --check
y: f32[0] = []
a: f32[5] = [1.0, 2.0, 3.0, 4.0, 5.0]
check y: 0 elements, bit-equal
check a: 5 elements, bit-equal

== parts that are views: r = list(a); r[1][...] = 5; s = numpy.split(a, 3, 1); s[0] *= 2; s[2] -= s[1]
$ viewfold run parts.vf --in a=[[1,2,3],[4,5,6],[7,8,9],[10,11,12]] --check
a: f32[4,3] = [[2.0, 2.0, 1.0], [10.0, 5.0, 0.0], [14.0, 8.0, 1.0], [20.0, 11.0, 1.0]]
check a: 12 elements, bit-equal
