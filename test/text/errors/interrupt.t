# Ctrl-C: the work ends, nothing is written, and a message says so.

<<< endless.vf
graph @more(%x: f32[4]) {
  %y = less %x, inf
  %z = all %y
  return %z
}
graph @step(%x: f32[4]) {
  %y = mul %x, 0.5
  return %y
}
graph @g(%x: f32[4]) {
  %y = while_loop %x while=@more do=@step
  return %y
}
>>>
== a run, whose results are not written
$ timeout --preserve-status -s INT 1 viewfold run endless.vf --in x='[1,2,3,4]' --out y=y.npy
! viewfold run: interrupted
? 130
== afterwards nothing is left
$ ls
endless.vf
== on a mesh
$ timeout --preserve-status -s INT 1 viewfold run endless.vf --mesh x=2 --in x='[1,2,3,4]'
! viewfold run: interrupted
? 130
