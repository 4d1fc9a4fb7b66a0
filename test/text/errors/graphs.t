# Text graphs with errors.
@text g.vf: viewfold dump --stage=graph g.vf

== a misspelt word
grpah @f(%x: f32[4]) {
  return %x
}
! g.vf:1:1: error: unexpected text, found 'grpah', expected 'graph', 'kernel', 'index' or 'mesh'
? 2

== no name
graph (%x: f32[4]) { return %x }
! g.vf:1:7: error: missing name, found '(', expected @NAME
? 2

== an unknown dtype
graph @f(%x: float[4]) { return %x }
! g.vf:1:14: error: unknown dtype, found 'float', expected f32, as it is called here
? 2

== a negative size
graph @f(%x: f32[-4]) { return %x }
! g.vf:1:18: error: bad size, found a negative number, expected one >= 0; a size that varies is a variable with its bounds, as in n=1..8
? 2

== a variable that may be negative as a size
graph @f(%x: f32[n=-4..4]) { return %x }
! g.vf: error: parameter %x of @f: input: size n of axis 0 in shape [n] is not known not to be negative; every size must be >= 0; needs n >= 0, known: -4 <= n <= 4; declare n=0..4
? 2

== an upper bound below the lower
graph @f(%x: f32[n=8..4]) { return %x }
! g.vf:1:19: error: bad bounds of a variable, found 8..4:1, expected low <= high, a divisor >= 1 and a multiple of it between them
? 2

== more bytes than can be counted
graph @f(%x: f64[4294967296,4294967296]) { return %x }
! g.vf: error: parameter %x of @f: input: a result of shape f64[4294967296,4294967296] is too large; its bytes must number less than 2^63
? 2

== seventeen axes
graph @f(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) { return %x }
! g.vf:1:50: error: rank too high, found '1', expected at most 16 sizes
? 2

== a parameter given twice
graph @f(%x: f32[4], %x: f32[4]) { return %x }
! g.vf:1:22: error: name defined twice, found '%x', expected a new name
? 2

== a value defined twice
graph @f(%x: f32[4]) {
  %y = neg %x
  %y = abs %x
  return %y
}
! g.vf:3:3: error: name defined twice, found '%y', expected a new name
? 2

== an undefined value
graph @f(%x: f32[4]) {
  %y = add %x, %z
  return %y
}
! g.vf:2:16: error: unknown value, found '%z', expected a parameter or the result of a statement above
? 2

== no return
graph @f(%x: f32[4]) {
  %y = neg %x
}
! g.vf:3:1: error: missing return, found '}', expected '%NAME = ...' or 'return'
? 2

== the file ends too early
graph @f(%x: f32[4]) {
  %y = neg %x
! g.vf:3:1: error: bad statement, found the end of the text, expected '%NAME = ...' or 'return'
? 2

== text after the operands
graph @f(%x: f32[4]) {
  %y = neg %x %x
  return %y
}
! g.vf:2:15: error: operands without a comma, found '%', expected ',' between them, as in add %x, %y
? 2

== two graphs of one name
graph @f(%x: f32[4]) { return %x }
graph @f(%x: f32[4]) { return %x }
! g.vf:2:7: error: name of a graph used twice, found '@f', expected a new name
? 2

== an unknown operation
graph @f(%x: f32[4]) {
  %y = permut %x order=[0]
  return %y
}
! g.vf:2:3: error: permut: there is no such operation; nearest: permute
? 2

== a missing operand
graph @f(%x: f32[4]) {
  %y = add %x
  return %y
}
! g.vf:2:3: error: add: 1 operand given; takes 2: x, y
? 2

== a missing attribute
graph @f(%x: f32[4]) {
  %y = permute %x
  return %y
}
! g.vf:2:3: error: permute: attribute order is missing; it is a list of axes, such as [1,0], or their letters, such as "cb"
? 2

== an unknown attribute
graph @f(%x: f32[4]) {
  %y = neg %x axis=0
  return %y
}
! g.vf:2:3: error: neg: there is no attribute axis; attributes: none
? 2

== a value without its sign
graph @f(%x: f32[4]) {
  %y = neg x
  return %y
}
! g.vf:2:12: error: 'x' is no value and no attribute; values are named with %, as in %x, and attributes are NAME=VALUE, as in axis=0; neg has no attributes
? 2

== a dtype without the attribute's name
graph @f(%x: f32[4]) {
  %y = cast %x f16
  return %y
}
! g.vf:2:16: error: a dtype without a name, found 'f16', expected an attribute, as in dtype=f16; those of cast: dtype
? 2

== an attribute given twice
graph @f(%x: f32[4,4]) {
  %y = sum %x axes=[0] axes=[1]
  return %y
}
! g.vf:2:24: error: attribute given twice, found 'axes' again, expected each once
? 2

== a type that differs from the value's
graph @f(%x: f32[4]) {
  %y = neg %x : f32[5]
  return %y
}
! g.vf:2:17: error: wrong type of '%y', found f32[5], expected f32[4]
? 2

== an order that names an axis twice
graph @f(%x: f32[3,2]) {
  %y = permute %x order=[0,0]
  return %y
}
! g.vf:2:3: error: permute: order [0,0] repeats axis 0; x has shape f32[3,2]; an order lists each of the axes 0..1 exactly once
? 2

== an axis out of range
graph @f(%x: f32[3,2]) {
  %y = sum %x axes=[2]
  return %y
}
! g.vf:2:3: error: sum: axis 2 is out of range; x has shape f32[3,2]; the axis must lie in -2..1
? 2

== a reshape to another number of elements
graph @f(%x: f32[3,2]) {
  %y = reshape %x shape=[4,2]
  return %y
}
! g.vf:2:3: error: reshape: shape [4,2] has 8 elements; x has shape f32[3,2], 6 elements; a reshape keeps their number
? 2

== two sizes to infer
graph @f(%x: f32[3,2]) {
  %y = reshape %x shape=[-1,-1]
  return %y
}
! g.vf:2:3: error: reshape: shape [-1,-1] has more than one -1; x has shape f32[3,2]; at most one size can be inferred
? 2

== an expand of a size that is not 1
graph @f(%x: f32[3,2]) {
  %y = expand %x shape=[3,4]
  return %y
}
! g.vf:2:3: error: expand: shape [3,4] asks for 4 at axis 1; x has shape f32[3,2], 2 there; only sizes of 1 can be expanded, others must be equal
? 2

== a window that leaves the tensor
graph @f(%x: f32[3,2]) {
  %y = shrink %x bounds=[[0,4],[0,2]]
  return %y
}
! g.vf:2:3: error: shrink: bounds [0,4] do not fit axis 0; x has shape f32[3,2]; takes 0 <= begin <= end <= 3
? 2

== a negative pad
graph @f(%x: f32[3]) {
  %y = pad %x pads=[[-1,0]]
  return %y
}
! g.vf:2:3: error: pad: pads [-1,0] of axis 0 are negative; x has shape f32[3]; a pad is >= 0: shrink takes elements away
? 2

== a reflection of nothing
graph @f(%x: f32[0]) {
  %y = pad %x pads=[[3,0]] mode="reflect"
  return %y
}
! g.vf:2:3: error: pad: mode=reflect repeats elements of axis 0, which has 0; x has shape f32[0]; the size must be at least 1
? 2

== pads for all axes but one
graph @f(%x: f32[3,2]) {
  %y = pad %x pads=[[1,1]]
  return %y
}
! g.vf:2:3: error: pad: 1 pair given; x has shape f32[3,2]; each axis takes one, 2 in all
? 2

== a step of zero
graph @f(%x: f32[3]) {
  %y = stride %x steps=[0]
  return %y
}
! g.vf:2:3: error: stride: step 0 of axis 0 is not possible; x has shape f32[3]; a step is a constant integer other than 0
? 2

== shapes that do not broadcast
graph @f(%x: f32[3,2], %y: f32[3,4]) {
  %z = add %x, %y
  return %z
}
! g.vf:2:3: error: add: shapes f32[3,2] and f32[3,4] do not broadcast: size 2 meets 4 at axis -1; sizes must be equal or 1
? 2

== a product of matrices that do not fit
graph @f(%x: f32[3,2], %y: f32[3,4]) {
  %z = matmul %x, %y
  return %z
}
! g.vf:2:3: error: matmul: the last axis of f32[3,2] has size 2, the last but one axis of f32[3,4] has 3; the contracted sizes must be equal
? 2

== dtypes that promote to nothing
graph @f(%x: u64[3], %y: i64[3]) {
  %z = add %x, %y
  return %z
}
! g.vf:2:3: error: add: u64 and i64 have no common dtype: no integer holds both; operands 1 and 2 are u64[3] and i64[3]; cast one of them
? 2

== bits of floats
graph @f(%x: f32[3]) {
  %z = xor %x, %x
  return %z
}
! g.vf:2:3: error: xor: floats have no bitwise operations; the operands promote to f32; takes bool or integers: cast, or bitcast
? 2

== float indices
graph @f(%x: f32[3], %i: f32[2]) {
  %z = gather %x, %i axis=0
  return %z
}
! g.vf:2:3: error: gather: the indices have shape f32[2]; x has shape f32[3]; indices must be integers: cast them, dtype=i32
? 2

== a shift by less than nothing
graph @f(%x: i32[3]) {
  %z = shl %x, -1
  return %z
}
! g.vf:2:3: error: shl: the count -1 is negative; x has shape i32[3]; a count is >= 0: shift the other way by shr instead
? 2

== the largest of nothing
graph @f(%x: f32[3,0]) {
  %z = max %x axes=[1]
  return %z
}
! g.vf:2:3: error: max: axis 1 has size 0; x has shape f32[3,0]; the minimum or maximum of no elements is undefined: each reduced size must be at least 1
? 2

== joined tensors whose other sizes differ
graph @f(%x: f32[3,2], %y: f32[3,3]) {
  %z = concat %x, %y axis=0
  return %z
}
! g.vf:2:3: error: concat: operand 2 has shape f32[3,3], the first f32[3,2]: size 2 meets 3 at axis 1; sizes of the other axes must be equal
? 2

== a bitcast to another width
graph @f(%x: f32[3]) {
  %z = bitcast %x dtype=i64
  return %z
}
! g.vf:2:3: error: bitcast: i64 has 8 bytes an element; x has shape f32[3], 4 bytes; use a dtype of the same size
? 2

== a size that cannot be shown to divide
graph @f(%x: f32[n=4..64]) {
  %z = reshape %x shape=[n//4,4]
  return %z
}
! g.vf:2:3: error: reshape: shape [(n//4),4] has ((n//4)*4) elements; x has shape f32[n], n elements; a reshape keeps their number; needs ((n//4)*4) == n, known: 4 <= ((n//4)*4) <= 64 in steps of 4, 4 <= n <= 64; declare n=4..64:4
? 2

== ragged literals
graph @f() {
  %z = data values=[[1,2],[3]]
  return %z
}
! g.vf:2:3: error: data: values are ragged: a list of 2 was expected at depth 1, and [1] is one of 1; lists of one depth must have one length
? 2

== a literal that its dtype does not hold
graph @f() {
  %z = data values=[1,256] dtype=u8
  return %z
}
! g.vf:2:3: error: data: the value 256 does not fit u8, which holds the integers 0..255; use a value in that range or another dtype
? 2

== a string that does not end
graph @f(%x: f32[3]) {
  %z = pad %x pads=[[1,1]] mode="edge
  return %z
}
! g.vf:2:33: error: unfinished string, found the end of the line, expected '"'
? 2

== several graphs and no choice
<<< g.vf
graph @f(%x: f32[3]) { return %x }
graph @g(%x: f32[3]) { return %x }
>>>
$ viewfold run g.vf --in x=[1,2,3]
! viewfold run: g.vf holds 2 graphs, @f, @g; choose one with --graph
! Try 'viewfold run --help'.
? 2

== an unknown graph chosen
<<< g.vf
graph @f(%x: f32[3]) { return %x }
graph @g(%x: f32[3]) { return %x }
>>>
$ viewfold run g.vf --graph h --in x=[1,2,3]
! viewfold run: g.vf holds no graph @h; it holds @f, @g
! Try 'viewfold run --help'.
? 2

== kernels cannot be run
<<< g.vf
kernel @k(p0: f32[3], p1: f32[3]) {
  for ridx0 in 0..3 thread {
    %0 = load p1[ridx0] : f32
    store p0[ridx0] = %0
  }
}
>>>
$ viewfold run g.vf
! viewfold run: g.vf holds no tensor graph, but the kernel @k; this command takes graphs
! Try 'viewfold run --help'.
? 2

== one value of a variable is enough to refuse, also the least
<<< g.vf
graph @g(%x: f32[n=4..9], %y: f32[4]) {
  %z = add %x, %y
  return %z
}
>>>
$ viewfold run g.vf --in x=[1,2,3,4] --in y=[1,2,3,4]
! g.vf:2:3: error: add: shapes f32[n] and f32[4] do not broadcast: size n meets 4 at axis -1; sizes must be equal or 1; needs n == 4, known: 4 <= n <= 9; declare n=4..4
? 2

== an entry of a list that is a tensor
$ printf 'graph @g(%%x: f32[4]) {\n  %%y = shrink %%x bounds=[[%%x,2]]\n  return %%y\n}\n' > g.vf
$ viewfold run g.vf --in x=[1,2,3,4]
! g.vf:2:3: error: shrink: entry 0 of the pairs has shape f32[4]; takes integers and expressions of size variables
? 2
