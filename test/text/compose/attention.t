# Attention. Numbers by NumPy in f64: exp(q k^T scale) over its sum, times v; equal to 2 in the last digit.
<<< attend.vf
graph @attend(%q: f32[3,2], %k: f32[4,2], %v: f32[4,2], %keep: bool[3,4], %add: f32[4]) {
  %plain = attention %q, %k, %v
  %causal = attention %q, %k, %v causal=true
  %scaled = attention %q, %k, %v scale=2
  %kept = attention %q, %k, %v, %keep
  %added = attention %q, %k, %v, %add
  return %plain, %causal, %scaled, %kept, %added
}
>>>

== plain, causal, scaled, with masks; a query without keys gives 0
$ viewfold run attend.vf --in q=[[1,0],[0,1],[1,-1]] --in k=[[1,2],[0,-1],[2,0],[1,1]] --in v=[[1,0],[0,1],[2,2],[-1,3]] \
>   --in keep=[[true,true,false,false],[false,false,false,false],[false,false,true,false]] --in add=[0,-inf,1,-1]
plain: f32[3,2] = [[0.897161, 1.6697615], [0.5350934, 1.1235167], [1.0111516, 1.7361621]]
causal: f32[3,2] = [[1.0, 0.0], [0.89295816, 0.107041806], [1.3142898, 1.5456655]]
scaled: f32[3,2] = [[1.5516069, 1.880797], [0.7795803, 0.38500512], [1.7162117, 1.8944954]]
kept: f32[3,2] = [[0.66976154, 0.33023846], [0.0, 0.0], [2.0, 2.0]]
added: f32[3,2] = [[1.6942773, 1.7628033], [1.1618023, 1.0128318], [1.8674045, 1.9486579]]

== an additive mask of -inf everywhere
<<< none.vf
graph @none(%q: f32[2,1], %k: f32[2,1]) {
  %mask = full shape=[2,2] value=-inf
  %y = attention %q, %k, %k, %mask
  return %y
}
>>>
$ viewfold run none.vf --in q=[[1],[2]] --in k=[[3],[4]]
y: f32[2,1] = [[0.0], [0.0]]

== a NaN affects only its query; large scores do not overflow
<<< wild.vf
graph @wild(%q: f32[3,1], %k: f32[2,1]) {
  %y = attention %q, %k, %k
  return %y
}
>>>
$ viewfold run wild.vf --in q=[[nan],[1e20],[-1e20]] --in k=[[3],[4]]
y: f32[3,1] = [[nan], [4.0], [3.0]]

== f16 is computed in f32: scores beyond 65504
<<< half.vf
graph @half(%q: f16[1,2], %k: f16[3,2], %v: f16[3,1]) {
  %y = attention %q, %k, %v
  return %y
}
>>>
$ viewfold run half.vf --in q=[[300,300]] --in k=[[300,300],[300,300],[-300,300]] --in v=[[1],[2],[4]]
y: f16[1,1] = [[1.5]]

== heads, batches and symbolic sizes, against the reference evaluator
<<< heads.vf
graph @heads(%q: f32[2,1,n=1..40,8], %k: f32[3,m=1..40,8], %v: f32[m,5]) {
  %y = attention %q, %k, %v causal=true
  return %y
}
graph @draw() {
  %q = normal shape=[2,1,17,8] seed=1
  %k = normal shape=[3,23,8] seed=2
  %v = uniform shape=[23,5] seed=3
  return %q, %k, %v
}
>>>
$ viewfold run heads.vf --graph draw --out q=q.npy --out k=k.npy --out v=v.npy
$ viewfold run heads.vf --graph heads --in q=q.npy --in k=k.npy --in v=v.npy --check
y: f32[2,3,17,5] [..]
check y: [..]
