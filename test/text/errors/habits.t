# Habits of other languages and libraries, and what the messages say to write.
== one name for two results
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = topk %x k=2
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: wrong number of results of topk, found 1 name, expected 2, as in %values, %indices = topk
? 2

== the name of a value as an operation
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: x: there is no such operation; it is a value: %x
? 2

== the name of a graph as an operation
<<< a.vf
graph @f(%a: f32[4,3]) {
  %b = exp %a
  return %b
}
graph @g(%x: f32[4,3]) {
  %y = f %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:6:3: error: f: there is no such operation; it is a graph, which is called by its name, as in %y = call %x do=@f
? 2

== an attribute of an operation of another system
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = gemm %x, %x transB=1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: gemm: there is no such operation; here it is %m = matmul %x, %y; %z = add %m, %b; transB is permute %x order=[1,0] before it
? 2

== the arrow of einops
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = rearrange %x from="a b -> b a"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: rearrange: attribute to is missing; it is the axes of the result in quotes, such as "bhpc" (of shard how it is divided, such as [x,-]); what stands before and behind the arrow is from="ab" to="ba"
? 2

== the arrow of einops, with names
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = rearrange %x from="row col -> col row"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: rearrange: attribute to is missing; it is the axes of the result in quotes, such as "bhpc" (of shard how it is divided, such as [x,-]); what stands before and behind the arrow is from="ab" to="ba", a letter for each axis
? 2

== a constant of a dtype by its name elsewhere
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, float32(2)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad constant, found 'float32', expected a number, or f32(0.5), as its dtype is called here
? 2

== the same as the first operand
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = neg float32(2)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:12: error: bad constant, found 'float32', expected a number, or f32(0.5), as its dtype is called here
? 2

== a dtype by its name elsewhere, without a name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = cast %x float16
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: a dtype without a name, found 'float16', expected an attribute, as in dtype=f16; those of cast: dtype
? 2

== a dtype by its name elsewhere, as an operand
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = cast %x, float16
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:17: error: a dtype in place of an operand, found 'float16', expected %NAME or a number; a dtype is an attribute, as in cast %x dtype=i32, and a constant of one f32(0.5); those of cast: dtype
? 2

== a dtype by its name elsewhere, as a value
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = cast %x dtype=float16
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: cast: attribute dtype is float16; that is f16, as it is called here
? 2

== a name of a file without quotes
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = data file=../w.npy
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:18: error: a text without quotes, found '../w.npy', expected "../w.npy"
? 2

== a file as an operand
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = load "../w.npy"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:13: error: a text in place of an operand, found '"../w.npy"', expected %NAME or a number; an array of a file is a constant, as in %w = data file="w.npy"
? 2

== a name of several letters for an axis
<<< a.vf
graph @g(%x: f32[batch=2]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:25: error: bad bounds of a variable, found ']', expected '..' and the largest value, as in n=1..8; what an axis of one size is called is one letter, as in b=2
? 2

== a part that is written
<<< a.vf
graph @g(%x: f32[4,3]) {
  %x[0] = 9
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:5: error: bad statement, found '[', expected '='; a part is written by a new value, as in %y = slice_update %x, %u start=[1,0]
? 2

== two axes of a mesh side by side
<<< a.vf
mesh @m [x=2,y=2]
graph @g(%h: f32[4,4] @m[xy,-]) {
  return %h
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:26: error: no axis of the mesh, found 'xy', expected one of x y; along several x.y
? 2

== a list without a name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = permute %x [1,0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:19: error: a list without a name, found '[', expected an attribute, as in shape=[2,3]; those of permute: order
? 2

== a number without a name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = topk %x 2
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: operands without a comma, found '2', expected ',' between them, as in add %x, %y; an attribute has its name, as in axis=0; those of topk: axis, k, largest
? 2

== a flag
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sort %x descending
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: 'descending' is no value and no attribute; values are named with %, as in %descending, and attributes are NAME=VALUE, as in axis=0; those of sort: axis, descending
? 2

== a list in braces
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = permute %x order={1,0}
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:25: error: a list in braces, found '{', expected brackets around it, as in shape=[2,3]
? 2

== a point without digits behind it
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, 5.
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:17: error: bad number, found '.', expected digits on both sides of the point, as in 0.5 and 5.0
? 2

== a sign
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, +1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad operand, found '+', expected %NAME or a number, which has no sign where it is positive
? 2

== a declaration
<<< a.vf
graph @g(%x: f32[4,3]) {
  let %y = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: bad statement, found 'let', expected the name alone, as in %y = neg %x
? 2

== a call in place of a result
<<< a.vf
graph @g(%x: f32[2]) {
  return exp(%x)
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:10: error: an operation in place of a result, found 'exp', expected %NAME; an operation has a line of its own before, as in %y = neg %x, and then return %y
? 2

== the end of a range
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = arange end=5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: arange: there is no attribute end; attributes: start, stop, step, dtype; end is called stop here
? 2

== numbers without a header
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ printf '\001\002\003\004\005\006\007\010' > x.bin; viewfold run r.vf --in x=x.bin
! x.bin: error: not a .npy file: it starts with 01 02 03 04 05 06; expected 93 4E 55 4D 50 59; numbers alone are read by numpy.fromfile, and numpy.save writes .npy
? 2

== a pass of kernels on a graph
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold pass fold r.vf
! viewfold pass: fold takes a kernel without loops (`index @...`); @g is a tensor graph (`graph @...`): viewfold dump --stage=index FILE.vf | viewfold pass fold -
? 2

== no pass
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold pass
! viewfold pass: the name of a pass and a file are needed, as in viewfold pass lower FILE.vf
! Try 'viewfold pass --help'.
? 2

== reshard without lines
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold reshard '[x,-]'
! viewfold reshard: it reads lines of JSON from standard input; found '[x,-]'; as in echo '{"id":"a","mesh":"x2","shape":[4,4],"dtype":"f32","from":"[x,-]","to":"[-,x]"}' | viewfold reshard --json
! Try 'viewfold reshard --help'.
? 2

== the transpose of NumPy in a chain
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold index 'f32[3,2].T'
! <chain>:1:10: error: unknown view, found 'T', expected permute with the order of the axes, as in permute(1,0)
? 2

== a page that is none
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold show r.vf -o page.pdf
! viewfold show: -o page.pdf: a page is HTML; a name that ends with .pdf would mislead
! Try 'viewfold show --help'.
? 2

== a text in place of a file
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold run 'graph @g(%x: f32[2]) { return %x }'
! graph @g(%x: f32[2]) { return %x }: error: cannot open the file: No such file or directory; a text of graphs is in a file, or comes by standard input, which is -
? 2

== derivatives
<<< r.vf
graph @g(%x: f32[4,3]) {
  return %x
}
>>>
$ viewfold run r.vf --grad
! viewfold run: unknown option '--grad'; derivatives are recorded in C or Python: vf_grad, vf.grad
! Try 'viewfold run --help'.
? 2
