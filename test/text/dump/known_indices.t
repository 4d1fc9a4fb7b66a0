# Gathers whose indices are literals in steps are views: passes/lower/known_gather.c.

== an image of twice the height, of which indices tell the rows, repeats them; clamped indices do not change that
<<< larger.vf
graph @larger(%x: f32[2,3,4]) {
  %i = iota shape=[6] axis=0 dtype=f64
  %h = div %i, 2.0
  %f = floor %h
  %c = min %f, 2.0
  %at = cast %c dtype=i64
  %y = gather %x, %at axis=1
  return %y
}
>>>
$ viewfold dump --print-after=lower larger.vf | grep -Eo ' (gather|expand|floor) .*'
 expand %0 shape=[2,3,2,4] : f32[2,3,2,4]
$ viewfold check larger.vf > out

== steps, an offset and a last element that is repeated fewer times are views of a part
<<< parts.vf
graph @every(%x: f32[11,3]) {
  %i = iota shape=[4] axis=0
  %j = mul %i, 3
  %at = add %j, 1
  %y = gather %x, %at axis=0
  return %y
}
graph @uneven(%x: f32[2,11]) {
  %i = iota shape=[8] axis=0
  %j = floordiv %i, 3
  %k = mul %j, 4
  %at = add %k, 2
  %y = gather %x, %at axis=1
  return %y
}
graph @one(%x: f32[2,11]) {
  %i = full shape=[5] value=7 dtype=i64
  %y = gather %x, %i axis=1
  return %y
}
>>>
$ for g in every uneven one; do viewfold dump --graph $g --print-after=lower parts.vf | grep -Eo ' (gather|shrink|stride|expand) .*'; viewfold check --graph $g parts.vf > out; done
 shrink %x bounds=[[1,11],[0,3]] : f32[10,3]
 stride %0 steps=[3,1] : f32[4,3]
 shrink %x bounds=[[0,2],[2,11]] : f32[2,9]
 stride %0 steps=[1,4] : f32[2,3]
 expand %2 shape=[2,3,3] : f32[2,3,3]
 shrink %4 bounds=[[0,2],[0,8]] : f32[2,8]
 shrink %x bounds=[[0,2],[7,8]] : f32[2,1]
 expand %1 shape=[2,1,5] : f32[2,1,5]

== indices that go back, that leave the axis or that are data stay gathers
<<< others.vf
graph @back(%x: f32[5]) {
  %i = iota shape=[5] axis=0
  %at = sub 4, %i
  %y = gather %x, %at axis=0
  return %y
}
graph @outside(%x: f32[5]) {
  %at = iota shape=[6] axis=0
  %y = gather %x, %at axis=0 mode=fill
  return %y
}
graph @data(%x: f32[5], %at: i64[5]) {
  %y = gather %x, %at axis=0
  return %y
}
>>>
$ for g in back outside data; do viewfold dump --graph $g --print-after=lower others.vf | grep -c gather; viewfold check --graph $g others.vf > out; done
1
1
1

== positions that are written stay gathers, of which is known whether they repeat one
<<< written.vf
graph @added(%x: f32[5], %u: f32[6]) {
  %p = address %x
  %i = iota shape=[6] axis=0
  %at = floordiv %i, 2
  %t = gather %p, %at axis=0
  %y = assign %x, %t, %u op=add
  return %y
}
graph @stored(%x: f32[5], %u: f32[2]) {
  %p = address %x
  %i = iota shape=[2] axis=0
  %j = mul %i, 2
  %at = add %j, 1
  %t = gather %p, %at axis=0
  %y = assign %x, %t, %u
  return %y
}
graph @last(%x: f32[5,3], %u: f32[6,3]) {
  %p = address %x
  %i = iota shape=[6] axis=0
  %at = floordiv %i, 2
  %t = gather %p, %at axis=0
  %y = assign %x, %t, %u
  return %y
}
>>>
$ for g in added stored last; do viewfold check --graph $g written.vf > out; viewfold dump --graph $g --print-after=lower written.vf | grep -c gather; done
1
1
1
