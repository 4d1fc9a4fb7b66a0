# What one kernel, part or nest of functions can hold; each message whole.

== the operands of a product have one axis less than a tensor can have
<<< product.vf
graph @product(%a: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3], %b: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,2]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ viewfold dump --stage=kernels product.vf
! viewfold dump: matmul: operands of f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3] and f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,2] have 16 axes; it takes at most 15, as its products have one more: reshape some into one
? 3

== pending reductions of a tensor of all axes
<<< sum.vf
mesh @m [x=2]
graph @sum(%a: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4] @m[-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,x]) {
  %y = sum %a axes=[15] keepdims=true
  %z = exp %y
  return %z
}
>>>
$ viewfold dump --stage=spmd sum.vf
! viewfold dump: shard: the summands of f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], which is a pending reduction, take one axis more, and a tensor has at most 16; reduce a value of fewer axes
? 2

== a part that is read through many views
$ { echo 'mesh @m [x=2]'; echo 'graph @long(%x0: f32[64] @m[x]) {'; for i in $(seq 300); do
>   echo "%p$i = pad %x$((i-1)) pads=[[1,0]]"; echo "%x$i = shrink %p$i bounds=[[0,64]]"; done; echo 'return %x300'; echo '}'; } > long.vf
$ viewfold dump --stage=spmd long.vf
! viewfold dump: shard: a part of f32[64] is read through more than 256 views and arrays; store a value in between, as in %y = stored %x
? 2

== the functions that an operation is made of count
$ { printf 'graph @f0(n=1..9, %%x: f32[n]) {\n%%y = sort %%x axis=0\nreturn %%y\n}\n'; for i in $(seq 64); do
>   printf 'graph @f%d(n=1..9, %%x: f32[n]) {\n%%y = scan %%x do=@f%d length=2 carries=1\nreturn %%y\n}\n' $i $((i-1)); done; } > deep.vf
$ viewfold dump --stage=kernels --graph f64 deep.vf > /dev/null
$ viewfold dump --stage=kernels --graph f64 --target 'native sort=0' deep.vf
! viewfold dump: control flow: functions are nested more than 64 deep, those that an operation such as sort is made of included; move it out of the innermost function
? 3

== moves that cut the first axis of a kernel with locals into unequal parts
<<< softmax.vf
graph @softmax(%x: f32[64,256]) {
  %y = softmax %x axis=1
  return %y
}
>>>
$ echo 'kernel 0 nest 0: split a0 7' > schedule
$ viewfold dump --stage=loops --schedule schedule softmax.vf
! viewfold dump: schedule:1: moves: a kernel with locals keeps its first axis in one piece, as they hold the values of one iteration: split it by a step that divides its size
? 2

== a size that exceeds 64 bits for the sizes that are given
<<< power.vf
graph @power(n=0..4096, %a: f32[n], %b: f32[n*n*n*n*n*n]) {
  %y = neg %a
  return %y
}
>>>
$ printf 'graph @a() {\n%%i = iota dtype=f32 shape=[4096] axis=0\nreturn %%i\n}\n' > iota.vf && viewfold run iota.vf --out i=a.npy
$ viewfold run power.vf --in a=a.npy --in b=[1,2]
! viewfold run: %b is f32[(((((n*n)*n)*n)*n)*n)], but the value given holds f32[2]: axis 0, (((((n*n)*n)*n)*n)*n), needs more than 64 bits for the sizes given
? 2

== a kernel of more size variables than OpenCL passes arguments
@needs viewfold devices | grep -q opencl
$ { printf 'graph @sizes('; for i in $(seq 200); do printf 'n%d=1..8, ' $i; done; printf '%%x: f32[0'; for i in $(seq 200); do printf '+n%d' $i; done
>   printf ']) {\n%%y = neg %%x\nreturn %%y\n}\ngraph @x() {\n%%x = iota dtype=f32 shape=[200] axis=0\nreturn %%x\n}\n'; } > sizes.vf
$ viewfold run --graph x sizes.vf --out x=x.npy
$ viewfold run --graph sizes --device=opencl sizes.vf --in x=x.npy $(for i in $(seq 200); do echo --size n$i=1; done)
! viewfold run: graph @sizes: compile: vf_neg_[..] takes [..] bytes of arguments, 16 for each array and 8 for each size variable; device [..] passes at most 1024
? 3

== a mesh of more threads than the process may have
@needs (ulimit -v 400000; viewfold --version)
<<< threads.vf
mesh @m [x=200]
graph @sum(%a: f32[400] @m[x]) {
  %y = sum %a
  return %y
}
graph @a() {
  %a = iota dtype=f32 shape=[400] axis=0
  return %a
}
>>>
$ viewfold run --graph a threads.vf --out a=a.npy
$ ulimit -v 400000; viewfold run --graph sum --mesh x=200 threads.vf --in a=a.npy
! viewfold run: a mesh of 200 devices takes as many threads; the system starts no more than [..]: the limits of this process (ulimit -u, -v) are reached
? 3
