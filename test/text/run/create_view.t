# Views by index descriptors. test/conform/create_view.py has the cases of the specification.
<<< known.vf
graph @known(%x: i32[3,4]) {
  %p = index_point 1
  %n = index_new_axis
  %i = index_interval 3, 0, -2, true
  %y = create_view %x, %p, %n, %i
  return %y, %p, %i
}
>>>
<<< shared.vf
graph @shared(%a: ref f32[5], %k: i64[], %u: f32[]) {
  %at = address %a
  %w = index_window %k length=3
  %t = create_view %at, %w
  %old = create_view %a, %w
  %f = flip %old axes=[0]
  %before = mul %old, 1.0
  %a = assign %a, %t, %f op=add
  %a = assign %a, %t, %u op=mul
  return %before
}
>>>
<<< listed.vf
graph @listed(%x: f32[3,4], %i: i64[2]) {
  %p = address %x
  %d = index_point 2
  %t = create_view %p, %d
  %g = gather %t, %i axis=0
  %y = assign %x, %g, 7
  return %y
}
>>>
<<< twice.vf
graph @twice(%x: f32[3,4]) {
  %p = address %x
  %d = index_point 2
  %n = index_new_axis
  %t = create_view %p, %n, %d
  %e = expand %t shape=[2,4]
  %y = assign %x, %e, 7
  return %y
}
>>>
<<< given.vf
graph @given(%x: f32[4], %d: i64[7]) {
  %y = create_view %x, %d kinds=[1] lengths=[2]
  return %y
}
>>>

== what is known is views. spec: I1 I2 I7
$ viewfold run known.vf --in 'x=[[0,1,2,3],[4,5,6,7],[8,9,10,11]]' --check
y: i32[1,2] = [[7, 5]]
p: i64[5] = [0, 1, 1, 1, 1]
i: i64[7] = [1, 2, 1, 3, 0, -2, 1]
check y: 2 elements, bit-equal
check p: 5 elements, bit-equal
check i: 7 elements, bit-equal
$ viewfold dump --stage=graph known.vf | grep -oE '= (shrink|stride|flip|point|unsqueeze|gather)'
= shrink
= stride
= flip
= point
= unsqueeze

== a source that overlaps its target, and a value that broadcasts. spec: I28 I29
$ viewfold run shared.vf --in a=[1,2,3,4,5] --in k=1 --in u=2 --check
before: f32[3] = [2.0, 3.0, 4.0]
a: f32[5] = [1.0, 12.0, 12.0, 12.0, 5.0]
check before: 3 elements, bit-equal
check a: 5 elements, bit-equal

== listed positions. spec: I8
$ viewfold run listed.vf --in 'x=[[0,1,2,3],[4,5,6,7],[8,9,10,11]]' --in i=[3,0] --check
y: f32[3,4] = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [7.0, 9.0, 10.0, 7.0]]
check y: 12 elements, bit-equal

== a target that names elements twice. spec: I29
$ viewfold run twice.vf --in 'x=[[0,1,2,3],[4,5,6,7],[8,9,10,11]]'
! twice.vf:7:3: error: assign: the target expands [1,4] to [2,4], so that [0,0] and [1,0] of it name one element; a target names each element once: write to the view without the expand, to which a value broadcasts
? 2

== numbers that are not as declared
$ viewfold run given.vf --in x=[1,2,3,4] --in d=[1,2,1,1,3,1,1]
! viewfold run: graph @given: create_view %x, %d kinds=[1] lengths=[2]: descriptor 0 (%d) is an interval of 3 elements, but was declared to have 2 (given.vf:2). The results are unspecified
? 2
$ viewfold run given.vf --in x=[1,2,3,4] --in d=[2,2,1,1,3,1,1]
! viewfold run: graph @given: create_view %x, %d kinds=[1] lengths=[2]: descriptor 0 (%d) has the kind 2, but is declared as an interval; kinds are fixed when recorded (given.vf:2). The results are unspecified
? 2
$ viewfold run given.vf --in x=[1,2,3,4] --in d=[1,2,1,1,3,0,0]
! viewfold run: graph @given: create_view %x, %d kinds=[1] lengths=[2]: descriptor 0 (%d) has the stride 0; takes a step other than 0 (given.vf:2). The results are unspecified
? 2
$ viewfold run given.vf --in x=[1,2,3,4] --in d=[1,2,1,3,5,1,0]
! viewfold run: graph @given: create_view %x, %d kinds=[1] lengths=[2]: descriptor 0 (%d) is an interval of 2 elements from 3 on, which leaves axis 0, of 4 elements (given.vf:2). The results are unspecified
? 2
