# Random numbers. The words of threefry2x32 are the published ones (kat_vectors of Random123); the draws were computed from
# the definition in docs/ir.md by NumPy and SciPy.

== the generator
<<< words.vf
graph @words(%k0: u32[3], %k1: u32[3], %c0: u32[3], %c1: u32[3]) {
  %a, %b = threefry2x32 %k0, %k1, %c0, %c1
  return %a, %b
}
>>>
$ viewfold run words.vf --in k0=[0,4294967295,320440878] --in k1=[0,4294967295,57701188] \
>   --in c0=[0,4294967295,608135816] --in c1=[0,4294967295,2242054355]
a: u32[3] = [1797259609, 481924860, 3297917596]
b: u32[3] = [2579123966, 3137350631, 1212020640]

== draws of one seed
# spec: F11
<<< draws.vf
graph @draws() {
  %a = uniform shape=[2,3] seed=7
  %b = uniform shape=[3] seed=7 dtype=f64
  %c = normal shape=[6] seed=7
  %d = gaussian shape=[3] seed=7 dtype=f64
  %e = bernoulli shape=[6] seed=7 p=0.3
  %f = uniform shape=5 seed=9223372036854788153
  %g = uniform shape=2 seed=-1
  return %a, %b, %c, %d, %e, %f, %g
}
>>>
$ viewfold run draws.vf
a: f32[2,3] = [[0.9084802, 0.7352802, 0.6903172], [0.31072348, 0.09496391, 0.07325685]]
b: f64[3] = [0.735280259025395, 0.31072353215197035, 0.07325687797157177]
c: f32[6] = [1.3314545, 0.62886184, 0.4967498, -0.4938006, -1.3107926, -1.4519562]
d: f64[3] = [0.6288618835274145, -0.4938005222392037, -1.4519563021624862]
e: bool[6] = [false, false, false, false, true, true]
f: f32[5] = [0.7675737, 0.6660865, 0.14253128, 0.76426786, 0.4409014]
g: f32[2] = [0.2547832, 0.30604523]

== the seed as an operand
<<< seeded.vf
graph @seeded(%seed: i32[]) {
  %u = uniform %seed shape=[2]
  return %u
}
>>>
$ viewfold run seeded.vf --in seed=7
u: f32[2] = [0.9084802, 0.7352802]
$ viewfold run seeded.vf --in seed=-1
u: f32[2] = [0.2547832, 0.30604523]

== random numbers fuse with their use: dropout is one kernel
<<< dropout.vf
graph @dropout(%x: f32[n=1..1000,64], %seed: u64[]) {
  %keep = bernoulli %seed shape=[n,64] p=0.9
  %y = mul %x, 1.1111112
  %d = where %keep, %y, 0.0
  return %d
}
>>>
$ viewfold dump --stage=kernels dropout.vf | grep -e '^graph' -e "^  reads"
graph @dropout: 1 kernel, 0 temporaries
  reads   %x f32[n,64], in 1 place
  reads   %seed u64[], in 1 place

== no seed
<<< none.vf
graph @g() {
  %u = uniform shape=[2]
  return %u
}
>>>
$ viewfold run none.vf
! none.vf:2:3: error: uniform: there is no seed; give seed=7, say, or an integer scalar as operand
? 2

== two seeds
<<< two.vf
graph @g(%s: u64[]) {
  %u = normal %s shape=[2] seed=3
  return %u
}
>>>
$ viewfold run two.vf --in s=1
! two.vf:2:3: error: normal: the seed is given as an operand and as an attribute; give one of them
? 2
