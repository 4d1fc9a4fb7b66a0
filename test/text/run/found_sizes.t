# Lengths of views that the run finds out. spec: I9.size
<<< halves.vf
graph @halves(%x: f32[8], %d: i64[7], %a: ref f32[8]) {
  %v = create_view %x, %d kinds=[1] lengths=[n=0..8]
  %p = address %a
  %t = create_view %p, %d kinds=[1] lengths=[n]
  %a = assign %a, %t, 9
  return %v
}
>>>
== an interval given in the run, also backwards and without elements
$ viewfold run halves.vf --in x=[1,2,3,4,5,6,7,8] --in d=[1,2,1,-1,0,-2,1] --in a=[0,0,0,0,0,0,0,0] --check
v: f32[4] = [8.0, 6.0, 4.0, 2.0]
a: f32[8] = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0, 0.0, 9.0]
check v: 4 elements, bit-equal
check a: 8 elements, bit-equal
$ viewfold run halves.vf --in x=[1,2,3,4,5,6,7,8] --in d=[1,2,1,3,3,-2,0] --in a=[0,0,0,0,0,0,0,0] --check
v: f32[0] = []
a: f32[8] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
check v: 0 elements, bit-equal
check a: 8 elements, bit-equal

== longer than declared
$ viewfold run halves.vf --in x=[1,2,3,4,5,6,7,8] --in d=[1,2,1,0,9,1,0] --in a=[0,0,0,0,0,0,0,0]
! viewfold run: the run finds that the size n is 9; it was declared as 0..8:1
? 2

== only a variable is found
<<< three.vf
graph @three(%k: i64[]) {
  %y = found %k size=3
  return %y
}
>>>
$ viewfold run three.vf --in k=3
! three.vf:2:3: error: found: the size is 3; a run finds the value of a size variable, such as n
? 2
