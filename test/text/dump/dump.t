# `viewfold dump`: what each stage prints.
<<< pool.vf
# each element with the one after it
graph @pool(%x: f32[n=8..64:8]) {
  %p = pad %x pads=[[0,1]]
  %a = shrink %p bounds=[[1,n+1]]   # shifted
  %s = add %x, %a
  return %s
}
graph @total(%x: f32[4,8]) {
  %e = exp %x
  %s = sum %e axes=[1]
  return %s, %e
}
>>>

== the graph, in its own form
$ viewfold dump --stage=graph pool.vf
graph @pool(%x: f32[n=8..64:8]) {
  %0 = pad %x pads=[[0,1]] : f32[(n+1)]
  %1 = shrink %0 bounds=[[1,(n+1)]] : f32[n]
  %s = add %x, %1 : f32[n]
  return %s
}
\
graph @total(%x: f32[4,8]) {
  %e = exp %x : f32[4,8]
  %s = sum %e axes=[1] : f32[4]
  return %s, %e
}

== the printed graph parses back to the same text
$ viewfold dump --stage=graph pool.vf > a.vf
$ viewfold dump --stage=graph a.vf | cmp - a.vf

== a value with two names
<<< two.vf
graph @two(%x: f32[3]) {
  %p = neg %x
  %q = %p : f32[3]
  %r = %x
  return %q, %p, %q, %r, true
}
>>>
$ viewfold dump --stage=graph two.vf
graph @two(%x: f32[3]) {
  %q = neg %x : f32[3]
  %p = %q : f32[3]
  %r = %x : f32[3]
  return %q, %p, %q, %r, true
}

== one graph of a file
$ viewfold dump --stage=graph --graph total pool.vf
graph @total(%x: f32[4,8]) {
  %e = exp %x : f32[4,8]
  %s = sum %e axes=[1] : f32[4]
  return %s, %e
}

== kernels
$ viewfold dump --stage=kernels pool.vf
graph @pool: 1 kernel, 0 temporaries
\
kernel 0 -> %s f32[n]
  for     %p = pad %x pads=[[0,1]] (line 3)
          %a = shrink %p bounds=[[1,n+1]] (line 4)
          %s = add %x, %a (line 5)
  fuses   pad shrink add
  reads   %x f32[n], in 2 places
  threads share a loop of [..]
\
graph @total: 2 kernels, 0 temporaries
\
kernel 0 -> %e f32[4,8]
  for     %e = exp %x (line 9)
  fuses   exp
  reads   %x f32[4,8], in 1 place
  threads share a loop of [..]
\
kernel 1 -> %s f32[4]
  for     %s = sum %e axes=[1] (line 10)
  fuses   sum
  reads   %e f32[4,8], in 1 place
  threads share a loop of [..]

== index: no views, one expression for each access
$ viewfold dump --stage=index --graph pool pool.vf
index @pool_0(n=8..64:8, p0: f32[n], p1: f32[n]) {
  range ridx0 in 0..n
  %0 = load p1[ridx0] : f32
  %1 = load p1[(ridx0+1)] if ((n-ridx0)>=2) : f32
  %2 = add %0, %1 : f32
  store p0[ridx0] = %2
}

== a printed kernel parses back
$ viewfold dump --stage=index --graph pool pool.vf > a.vf
$ viewfold dump --stage=graph a.vf | cmp - a.vf
$ viewfold dump --stage=loops --graph pool pool.vf > b.vf
$ grep -v '^# kernel' b.vf > c.vf
$ viewfold dump --stage=graph b.vf | cmp - c.vf

== loops, for a machine that is not this one
$ viewfold dump --stage=loops --target='vector_bytes=16' 'f32[64].flip(0)' | grep -c ' vector {'
1

== code
$ viewfold dump --stage=llvm --target='vector_bytes=16' 'f32[64]' | grep -o '<4 x float>' | uniq
<4 x float>
$ viewfold dump --stage=asm 'f32[64]' | grep -c '^	ret'
1

== after passes
$ viewfold dump --print-after=all --graph pool pool.vf | grep '^# after'
\# after physicalize
\# after sizes
\# after scans
\# after lower
\# after channels
\# after reductions
\# after order
\# after integers
\# after tables
\# after constants
\# after values
\# after split
\# after copies
\# after invariants
\# after pack
\# after parts
\# after schedule
\# after regroup
\# after in_place
\# after alternatives
\# after views
\# after fold
\# after index
\# after elementary
\# after canonical
\# after crop
\# after refine
\# after domains
\# after rows
\# after peel
\# after stream
\# after prefetch
\# after separate
\# after stage
\# after share
\# after loops
$ viewfold dump --print-after=lower --graph total pool.vf
\# after lower
graph @total(%x: f32[4,8]) {
  %e = exp %x : f32[4,8]
  %s = sum %e axes=[1] : f32[4]
  return %s, %e
}

== a chain in place of a file
$ viewfold dump --stage=graph 'f32[n=4..64:4,32].reshape(n//4,128)'
graph @chain(%x: f32[n=4..64:4,32]) {
  %y = reshape %x shape=[(n//4),128] : f32[(n//4),128]
  return %y
}

== help
$ viewfold dump --help | head -2
Usage: viewfold dump --stage=STAGE [OPTIONS] FILE.vf|CHAIN
       viewfold dump --print-after=PASS|all [OPTIONS] FILE.vf|CHAIN
$ viewfold help dump | head -1
Usage: viewfold dump --stage=STAGE [OPTIONS] FILE.vf|CHAIN

== the environment is checked as it is by run
$ VIEWFOLD_THREADS=many viewfold dump --stage=graph 'f32[2]'
! viewfold dump: VIEWFOLD_THREADS takes a number from 1 to 4096, found 'many'
! Try 'viewfold dump --help'.
? 2
$ VIEWFOLD_DEVICE=abacus viewfold dump --stage=graph 'f32[2]'
! viewfold dump: VIEWFOLD_DEVICE names an unknown device 'abacus'; expected cpu, c, opencl, opencl:NUMBER or opencl:PART OF NAME
! Try 'viewfold dump --help'.
? 2

== merged axes whose size is a product, multiplied out, read back
<<< windows.vf
graph @windows(%x: f32[b=1..8,n=2..64,m=3..64]) {
  %s = shrink %x bounds=[[0,b],[1,n],[1,m-1]]
  %f = reshape %s shape=[b,(n-1)*(m-2)]
  return %f
}
graph @diagonals(%x: f32[n=2..64]) {
  %h = shrink %x bounds=[[0,n-n//2]]
  %a = unsqueeze %h axis=0
  %b = unsqueeze %h axis=1
  %p = mul %a, %b
  %q = stack %p, %p axis=0
  %d = einsum %q equation="bii->bi"
  return %d
}
>>>
$ viewfold dump --stage=graph windows.vf >once
$ viewfold dump --stage=graph once >twice
$ cmp once twice
$ grep -c reshape once
3
