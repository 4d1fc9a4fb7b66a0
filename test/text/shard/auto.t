# The automatic choice of shardings.

== columns of the first matrix and rows of the second: one sum, of few rows
<<< layer.vf
mesh @m [x=4]
graph @layer(%h: f32[16,1024] @m[-,-], %w: f32[1024,4096], %v: f32[4096,1024]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v : f32[16,1024] @m[-,-]
  return %p
}
>>>
$ viewfold dump --stage=shard --auto layer.vf
\# %p: [-,-]+x to [-,-], all_reduce: asked for
mesh @m [x=4]
graph @layer(%h: f32[16,1024] @m[-,-], %w: f32[1024,4096] @m[-,x], %v: f32[4096,1024] @m[x,-]) {
  %0 = matmul %h, %w : f32[16,4096] @m[-,x]
  %1 = relu %0 : f32[16,4096] @m[-,x]
  %p = matmul %1, %v : f32[16,1024] @m[-,-]
  return %p
}

== open dimensions alone are chosen, and results are the same
<<< open.vf
graph @g(%a: f32[2,4], %b: f32[4,2]) {
  %c = matmul %a, %b
  return %c
}
>>>
$ viewfold run open.vf --in 'a=[[1,2,3,4],[1,0,1,0]]' --in 'b=[[1,0],[0,1],[1,1],[0,-1]]' --mesh x=2 --shard 'a=[-,x]' --auto --check
c: f32[2,2] = [[4.0, 1.0], [2.0, 1.0]]
check c: 4 elements, bit-equal

== a mesh is needed
$ viewfold run open.vf --auto
? 2
! viewfold run: --auto takes a mesh; for example: --mesh x=2,y=4
! Try 'viewfold run --help'.
$ viewfold explain open.vf --auto
? 2
! viewfold explain: --auto: takes --mesh, of which it says what is predicted
! Try 'viewfold explain --help'.
