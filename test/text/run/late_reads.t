# Results of an older and a newer version together: what they need of the older one is put into memory before the write.
<<< late.vf
graph @late(%a: ref f32[8], %v: f32[2]) {
  %p = address %a
  %t = shrink %p bounds=[[3,5]]
  %old = shrink %a bounds=[[2,6]]
  %a = assign %a, %t, %v
  %new = shrink %a bounds=[[2,6]]
  %y = sub %new, %old
  return %y
}
graph @twice(%a: ref f32[8], %v: f32[2]) {
  %p = address %a
  %t = shrink %p bounds=[[3,5]]
  %s = shrink %p bounds=[[0,2]]
  %b = shrink %a bounds=[[3,5]]
  %c = flip %b axes=[0]
  %a = assign %a, %t, %v
  %a = assign %a, %s, %c op=add
  return
}
graph @whole(%a: ref f32[8], %v: f32[2]) {
  %p = address %a
  %t = shrink %p bounds=[[3,5]]
  %old = abs %a
  %a = assign %a, %t, %v
  %y = sub %a, %old
  return %y
}
>>>

== elements of the older version
$ sed -n '/^graph @late(/,/^}/p' late.vf > one.vf
$ viewfold dump --stage=kernels one.vf | grep '^kernel'
kernel 0 -> %old f32[4]
kernel 1 -> %a f32[8]
kernel 2 -> %y f32[4]
$ viewfold run one.vf --in a=[1,2,3,4,5,6,7,8] --in v=[50,70] --check
y: f32[4] = [0.0, 46.0, 65.0, 0.0]
a: f32[8] = [1.0, 2.0, 3.0, 50.0, 70.0, 6.0, 7.0, 8.0]
check y: 4 elements, bit-equal
check a: 8 elements, bit-equal

== a value for a later write
$ sed -n '/^graph @twice(/,/^}/p' late.vf > two.vf
$ viewfold dump --stage=kernels two.vf | grep '^kernel'
kernel 0 -> %c f32[2]
kernel 1 -> %a f32[8]
kernel 2 -> %a f32[8]
$ viewfold run two.vf --in a=[1,2,3,4,5,6,7,8] --in v=[50,70] --check
a: f32[8] = [6.0, 6.0, 3.0, 50.0, 70.0, 6.0, 7.0, 8.0]
check a: 8 elements, bit-equal

== all of it: the newer version has memory of its own
$ sed -n '/^graph @whole(/,/^}/p' late.vf > whole.vf
$ viewfold dump --stage=kernels whole.vf | grep '^kernel'
kernel 0 -> %a f32[8]
kernel 1 -> %a f32[8]
kernel 2 -> %y f32[8]
$ viewfold run whole.vf --in a=[1,2,3,4,5,6,7,8] --in v=[50,70] --check
y: f32[8] = [0.0, 0.0, 0.0, 46.0, 65.0, 0.0, 0.0, 0.0]
a: f32[8] = [1.0, 2.0, 3.0, 50.0, 70.0, 6.0, 7.0, 8.0]
check y: 8 elements, bit-equal
check a: 8 elements, bit-equal
