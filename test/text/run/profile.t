# `viewfold run --profile`: where the time of runs goes. Times are not compared.
<<< soft.vf
graph @soft(%x: f32[64,48]) {
  %m = max %x axes=[1] keepdims=true
  %d = sub %x, %m
  %e = exp %d
  %z = sum %e axes=[1] keepdims=true
  %y = div %e, %z
  %t = permute %y order=[1,0]
  %q = matmul %t, %x
  return %q
}
>>>
<<< x.vf
graph @x() {
  %x = iota shape=[64,48] axis=0 dtype=f32
  return %x
}
>>>

== a table has a line for each kernel
$ export VIEWFOLD_MACHINE='threads=1 read=10 copy=10 fill=10 gflops=50'
> viewfold run x.vf --out x=x.npy && viewfold run soft.vf --in x=x.npy --threads 1 --profile > table
> head -3 table; grep -c 'kernel [0-9]* -> ' table; grep -o '%q: .*' table
q: f32[48,48] min 42.0 [..]
graph @soft: [..] run[..] of [..] ms
        ms  share  times        MB    GB/s       Mop  GFLOP/s  limit
[..]
%q: fma, sum

== JSON goes to standard output alone, and is what show reads
$ export VIEWFOLD_MACHINE='threads=1 read=10 copy=10 fill=10 gflops=50'
> viewfold run x.vf --out x=x.npy && viewfold run soft.vf --in x=x.npy --profile=json > p.json
> grep -c limit_ns p.json && viewfold show soft.vf --profile p.json -o page.html && grep -o '"times":{' page.html
[..]
"times":{
! q: f32[48,48] [..]

== a trace has events of runs and of kernels
$ export VIEWFOLD_MACHINE='threads=1 read=10 copy=10 fill=10 gflops=50'
> viewfold run x.vf --out x=x.npy && viewfold run soft.vf --in x=x.npy --profile=trace > p.json
> head -2 p.json; grep -o '"cat":"[a-z]*"' p.json | sort -u
{"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":1,"args":{"name":"viewfold"}},
"cat":"kernel"
"cat":"run"
! q: f32[48,48] [..]

== forms that there are not
$ viewfold run 'f32[2]' --in x=[1,2] --profile=svg
! viewfold run: --profile: no form 'svg'; the forms are text, json and trace
! Try 'viewfold run --help'.
? 2

== intermediates have the names of the text, as in explain
<<< long.vf
graph @f(%x: f32[64,128], %w: f32[128,128]) {
  %the_scores_of_all_tokens = matmul %x, %w
  %p = softmax %the_scores_of_all_tokens axis=1
  %y = matmul %p, %w
  return %y
}
>>>
<<< in.vf
graph @in() {
  %x = ones shape=[64,128]
  %w = ones shape=[128,128]
  return %x, %w
}
>>>
$ export VIEWFOLD_MACHINE='threads=1 read=10 copy=10 fill=10 gflops=50'
> viewfold run in.vf --out x=x.npy --out w=w.npy && viewfold run long.vf --in x=x.npy --in w=w.npy --threads 1 --profile > table
> grep -o '%the_scores[a-z_]*' table; viewfold explain --no-run long.vf | grep -o '%the_scores[a-z_]*'
%the_scores_of_all_tokens
%the_scores_of_all_tokens
%the_scores_of_all_tokens
%the_scores_of_all_tokens
%the_scores_of_all_tokens
