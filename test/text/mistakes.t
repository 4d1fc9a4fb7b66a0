# Mistakes of people who have not read the manual, one of each kind. A message says where it is, what is wrong, and what would do.

<<< good.vf
graph @g(%x: f32[2]) {
  %y = mul %x, 2
  return %y
}
>>>
<<< sized.vf
graph @g(%x: f32[n=1..8]) {
  %y = mul %x, 2
  return %y
}
>>>
<<< take.vf
graph @g(%x: f32[3], %i: i32[2]) {
  %y = take %x, %i axis=0
  return %y
}
>>>

== sizes that do not broadcast
<<< a.vf
graph @g(%x: f32[4,3], %b: f32[4]) {
  %y = add %x, %b
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: add: shapes f32[4,3] and f32[4] do not broadcast: size 3 meets 4 at axis -1; sizes must be equal or 1
? 2

== inner sizes of a product
<<< a.vf
graph @g(%x: f32[4,3], %w: f32[4,5]) {
  %y = matmul %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: matmul: the last axis of f32[4,3] has size 3, the last but one axis of f32[4,5] has 4; the contracted sizes must be equal
? 2

== an axis that is not there
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x axes=[2]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: axis 2 is out of range; x has shape f32[4,3]; the axis must lie in -2..1
? 2

== an axis twice
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x axes=[0,-2]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: axes [0,-2] repeat axis 0; x has shape f32[4,3]; each axis may be listed at most once
? 2

== an operation by another name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add2 %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: add2: there is no such operation; nearest: add
? 2

== an operation misspelt
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sofmax %x axis=-1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sofmax: there is no such operation; nearest: softmax
? 2

== a value misspelt
<<< a.vf
graph @g(%scores: f32[4]) {
  %y = exp %score
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:12: error: unknown value, found '%score', expected a parameter or the result of a statement above; near to it: %scores
? 2

== a value before it is made
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, %z
  %z = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: unknown value, found '%z', expected a parameter or the result of a statement above; it is in line 3, below
? 2

== a name twice
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x
  %y = log %y
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:3: error: name defined twice, found '%y', expected a new name
? 2

== nothing returned
<<< a.vf
graph @g(%x: f32[4]) {
  %y = exp %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:1: error: missing return, found '}', expected '%NAME = ...' or 'return'
? 2

== a brace missing
<<< a.vf
graph @g(%x: f32[4]) {
  %y = exp %x
  return %y
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:4:1: error: a graph without an end, found the end of the text, expected '}'
? 2

== an attribute that is not there
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x axis=[0] keepdim=true
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: there is no attribute keepdim; attributes: axis, axes, keepdims; keepdim is called keepdims here
? 2

== an attribute missing
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = permute %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: permute: attribute order is missing; it is a list of axes, such as [1,0], or their letters, such as "cb"
? 2

== a permutation that is none
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = permute %x order=[0,0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: permute: order [0,0] repeats axis 0; x has shape f32[4,3]; an order lists each of the axes 0..1 exactly once
? 2

== a reshape of another size
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = reshape %x shape=[5,3]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: reshape: shape [5,3] has 15 elements; x has shape f32[4,3], 12 elements; a reshape keeps their number
? 2

== two sizes left out
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = reshape %x shape=[-1,-1]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: reshape: shape [-1,-1] has more than one -1; x has shape f32[4,3]; at most one size can be inferred
? 2

== a dtype that is none
<<< a.vf
graph @g(%x: float[4]) {
  %y = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:14: error: unknown dtype, found 'float', expected f32, as it is called here
? 2

== a dtype of another library
<<< a.vf
graph @g(%x: float32[4]) {
  %y = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:14: error: unknown dtype, found 'float32', expected f32, as it is called here
? 2

== integers in a root
<<< a.vf
graph @g(%x: i32[4]) {
  %y = sqrt %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
graph @g(%x: i32[4]) {
  %0 = cast %x dtype=f32 : f32[4]
  %y = sqrt %0 : f32[4]
  return %y
}

== integers and floats
<<< a.vf
graph @g(%x: i32[4], %z: f32[4]) {
  %y = add %x, %z
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
graph @g(%x: i32[4], %z: f32[4]) {
  %0 = cast %x dtype=f32 : f32[4]
  %y = add %0, %z : f32[4]
  return %y
}

== wide and narrow integers
<<< a.vf
graph @g(%x: u64[4], %z: i64[4]) {
  %y = add %x, %z
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: add: u64 and i64 have no common dtype: no integer holds both; operands 1 and 2 are u64[4] and i64[4]; cast one of them
? 2

== bool plus
<<< a.vf
graph @g(%x: bool[4]) {
  %y = add %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: add: there is no arithmetic on bool; the operands promote to bool; cast to an integer or float dtype, or use and, or, not
? 2

== where without a bool
<<< a.vf
graph @g(%c: i32[4], %x: f32[4,3]) {
  %y = where %c, %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: where: the condition has shape i32[4]; a condition must be bool: compare it, or cast it to bool
? 2

== a condition that is no bool
<<< a.vf
graph @a(%x: f32[]) {
  return %x
}
graph @g(%p: f32[], %x: f32[]) {
  %y = cond %p, %x then=@a else=@a
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:5:3: error: cond: the predicate is f32[]; it must be a bool of rank 0: compare, or reduce it
? 2

== branches of different shapes
<<< a.vf
graph @a(%x: f32[2]) {
  return %x
}
graph @b(%x: f32[2]) {
  %y = sum %x axes=[0]
  return %y
}
graph @g(%p: bool[], %x: f32[2]) {
  %y = cond %p, %x then=@a else=@b
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:9:3: error: cond: result 1 is f32[] in the second branch, f32[2] in the first; both must have the same shape and dtype
? 2

== a state that changes its shape
<<< a.vf
graph @a(%s: f32[2], %x: f32[]) {
  %n = sum %s axes=[0]
  return %n
}
graph @g(%s: f32[2], %x: f32[3]) {
  %y = scan %s, %x do=@a
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:6:3: error: scan: value 1 of the state is f32[] after an iteration, f32[2] before; both must have the same shape and dtype
? 2

== a function that is not there
<<< a.vf
graph @g(%s: f32[2], %x: f32[3]) {
  %y = scan %s, %x do=@step
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:23: error: unknown graph, found '@step', expected a graph defined above
? 2

== a function without enough parameters
<<< a.vf
graph @a(%s: f32[2]) {
  return %s
}
graph @g(%s: f32[2], %x: f32[3]) {
  %y = scan %s, %x do=@a
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:5:3: error: scan: the body takes 1 operand, 2 given; it must take as many as are given
? 2

== an endless function
<<< a.vf
graph @g(%x: f32[2]) {
  %y = call %x do=@g
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:19: error: unknown graph, found '@g', expected a graph defined above; a graph does not call itself: what is repeated is the do=@f of while_loop or scan
? 2

== an index that is a float
<<< a.vf
graph @g(%x: f32[4,3], %i: f32[2]) {
  %y = take %x, %i axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: take: the indices have shape f32[2]; x has shape f32[4,3]; indices must be integers: cast them, dtype=i32
? 2

== a negative size
<<< a.vf
graph @g(%x: f32[-4]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:18: error: bad size, found a negative number, expected one >= 0; a size that varies is a variable with its bounds, as in n=1..8
? 2

== a slice beyond the end
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = shrink %x bounds=[[0,4],[1,5]]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: shrink: bounds [1,5] do not fit axis 1; x has shape f32[4,3]; takes 0 <= begin <= end <= 3
? 2

== a slice of too few axes
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = shrink %x bounds=[[0,4]]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: shrink: 1 pair given; x has shape f32[4,3]; each axis takes one, 2 in all
? 2

== a slice backwards
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = shrink %x bounds=[[3,1],[0,3]]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: shrink: bounds [3,1] do not fit axis 0; x has shape f32[4,3]; takes 0 <= begin <= end <= 4
? 2

== brackets as in Python
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x[0:2]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:14: error: a value has no brackets, found '[', expected the end of the line; slice takes a part, as in slice %x start=[0] size=[2], and point one index
? 2

== a call as in Python
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp(%x)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x : f32[4,3]
  return %y
}

== an infix sign
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = %x + %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '+', expected the end of the line; what is %x + %y elsewhere is add %x, %y
? 2

== a semicolon
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x;
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:14: error: unexpected character, found ';', expected the end of the line, which ends a statement, or ',' within a list
? 2

== a comment of C
<<< a.vf
graph @g(%x: f32[4,3]) {
  // twice
  %y = add %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: bad statement, found '//', expected '#', with which a comment begins
? 2

== a number for a tensor
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum 3 axes=[0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: axis 0 is out of range; x has shape i32[], which has no axes
? 2

== padding of one number
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = pad %x pads=[1,1]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: pad: attribute pads holds 1; it is a list of pairs [before,after], such as [[1,1],[0,2]]
? 2

== padding that is negative
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = pad %x pads=[[-1,0],[0,0]]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: pad: pads [-1,0] of axis 0 are negative; x has shape f32[4,3]; a pad is >= 0: shrink takes elements away
? 2

== a convolution without channels
<<< a.vf
graph @g(%x: f32[8,8], %w: f32[3,3]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: conv: x has shape f32[8,8], the weight f32[3,3], and 0 spatial axes; both must have 2 axes before these: x batch and channels, the weight channels
? 2

== channels that differ
<<< a.vf
graph @g(%x: f32[1,3,8,8], %w: f32[4,2,3,3]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: conv: x has shape f32[1,3,8,8], 3 channels; the weight has shape f32[4,2,3,3], for 2 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the weight [results, channels / groups, ...]
? 2

== a window larger than the image
<<< a.vf
graph @g(%x: f32[1,1,4,4]) {
  %y = max_pool %x kernel=[5,5]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: max_pool: a window of 5 by dilation 1 spans 5 elements; x has shape f32[1,1,4,4], 4 in spatial axis 0 with its padding; a window must lie inside
? 2

== an einsum with a wrong letter
<<< a.vf
graph @g(%a: f32[2,3], %b: f32[3,4]) {
  %y = einsum %a, %b equation="ij,jk->il"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: einsum: equation 'ij,jk->il': the result has 'l', which no operand has; an equation is like 'ij,jk->ik' or '...ii->...i'
? 2

== an einsum of other sizes
<<< a.vf
graph @g(%a: f32[2,3], %b: f32[2,4]) {
  %y = einsum %a, %b equation="ij,jk->ik"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: einsum: label 'j' has size 3 in operand 1, of shape f32[2,3], and 2 in operand 2, of shape f32[2,4]; sizes of a label must be equal or 1
? 2

== a concatenation of other sizes
<<< a.vf
graph @g(%a: f32[2,3], %b: f32[2,4]) {
  %y = concatenate %a, %b axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: concatenate: operand 2 has shape f32[2,4], the first f32[2,3]: size 3 meets 4 at axis 1; sizes of the other axes must be equal
? 2

== a stack of other shapes
<<< a.vf
graph @g(%a: f32[2,3], %b: f32[2,4]) {
  %y = stack %a, %b axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: stack: operand 2 has shape f32[2,4], the first f32[2,3]: size 3 meets 4 at axis 1; sizes must be equal
? 2

== topk beyond the axis
<<< a.vf
graph @g(%x: f32[4]) {
  %y, %i = topk %x k=5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: topk: k is 5; axis 0 of x, of shape f32[4], has size 4; k is from 0 to the size
? 2

== too few results
<<< a.vf
graph @g(%x: f32[4]) {
  %y = topk %x k=2
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: wrong number of results of topk, found 1 name, expected 2, as in %values, %indices = topk
? 2

== too many results
<<< a.vf
graph @g(%x: f32[4]) {
  %y, %z = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: wrong number of results of exp, found 2 names, expected 1
? 2

== too many operands
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: exp: 2 operands given; takes 1: x
? 2

== too few operands
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sub %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sub: 1 operand given; takes 2: x, y
? 2

== a bound in the wrong order
<<< a.vf
graph @g(%x: f32[n=8..1]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:19: error: bad bounds of a variable, found 8..1:1, expected low <= high, a divisor >= 1 and a multiple of it between them
? 2

== a size without bounds
<<< a.vf
graph @g(%x: f32[n]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:18: error: unknown name in an expression, found 'n', expected a number, or a variable, which has its bounds where it stands first, as in n=1..8
? 2

== a size that is not declared
<<< a.vf
graph @g(%x: f32[n=1..8]) {
  %y = expand %x shape=[m]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: expand: attribute shape holds m, which is no size variable of the graph; it is a list of sizes, such as [3,2]
? 2

== a write to a value
<<< a.vf
graph @g(%a: f32[4], %b: f32[4]) {
  %y = assign %a, %b, %b
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: assign: the target f32[4] is made by input; a target is a chain of views of the positions of x: address %x, then views of that
? 2

== a shift by a float
<<< a.vf
graph @g(%x: f32[4]) {
  %y = shl %x, 1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: shl: it moves the bits of integers; the operands promote to f32; cast to an integer dtype
? 2

== an extremum of nothing
<<< a.vf
graph @g(%x: f32[0]) {
  %y = max %x axes=[0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: max: axis 0 has size 0; x has shape f32[0]; the minimum or maximum of no elements is undefined: each reduced size must be at least 1
? 2

== a parameter that is returned twice under one name
<<< a.vf
graph @g(%x: f32[2]) {
  return %x, %x
}
>>>
$ viewfold dump --stage=graph a.vf
graph @g(%x: f32[2]) {
  return %x, %x
}

== a graph twice
<<< a.vf
graph @g(%x: f32[2]) {
  return %x
}
graph @g(%x: f32[2]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:4:7: error: name of a graph used twice, found '@g', expected a new name
? 2

== a graph without a name
<<< a.vf
graph (%x: f32[2]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:7: error: missing name, found '(', expected @NAME
? 2

== a name without a sign
<<< a.vf
graph @g(x: f32[2]) {
  return x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:10: error: bad name of a parameter, found 'x', expected one that begins with %, as in %x: f32[2,3]
? 2

== a type left out
<<< a.vf
graph @g(%x) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:12: error: missing type of a parameter, found ')', expected ':' and a type, as in %x: f32[2,3]
? 2

== a literal of mixed lengths
<<< a.vf
graph @g() {
  %y = data [[1,2],[3]] : f32[2,2]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:13: error: a list in place of operands, found '[', expected operands without brackets, as in concat %x, %y; a list is an attribute, as in values=[1,2]; those of data: shape, values, dtype
? 2

== text of another language
<<< a.vf
def g(x):
    return x
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:1: error: unexpected text, found 'def', expected 'graph', 'kernel', 'index' or 'mesh'
? 2

== an empty file
<<< a.vf
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:1: error: nothing to read, found the end of the text, expected 'graph @NAME(...) { ... }'
? 2

== an integer too large
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, 99999999999999999999
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: integer too large, found '99999999999999999999', expected at most 18446744073709551615
? 2

== a number too large
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add %x, 1e999
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: number too large, found '1e999', expected a finite f64 of at most 1000 characters
? 2

== an escape that is none
<<< a.vf
graph @g(%a: f32[2,3], %b: f32[3,4]) {
  %y = einsum %a, %b equation="ij,jk\q->ik"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:37: error: unknown escape in a string, expected one of \\ \" \n \t \xHH
? 2

== an empty name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %"" = exp %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: empty name, found '%""', expected '%NAME'
? 2

== a concatenation of nothing
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = concatenate axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: concatenate: 0 operands given; takes at least 1: arrays
? 2

== a fill that is no scalar
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = full %x shape=[2]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: full: 1 operand given; takes 0; attributes: shape, value, dtype
? 2

== an exclusive maximum
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = cummax %x axis=0 exclusive=true
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: cummax: there is no attribute exclusive; attributes: axis, reverse
? 2

== an end that is no integer
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = arange stop=1.5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
graph @g(%x: f32[4,3]) {
  %0 = iota shape=[2] axis=0 dtype=f64 : f64[2]
  %1 = mul %0, 1.0 : f64[2]
  %2 = add %1, 0.0 : f64[2]
  %y = cast %2 dtype=f32 : f32[2]
  return %y
}

== a spec without a mesh
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = shard %x spec=[x,-]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:22: error: no mesh, found '[', expected a mesh above the graph, as in mesh @m [x=2,y=4]
? 2

== an expression for a parameter
<<< a.vf
graph @g(n+1, %x: f32[2]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:10: error: unknown name in an expression, found 'n', expected a number, or a variable, which has its bounds where it stands first, as in n=1..8
? 2

== a bound of iterations that is negative
<<< a.vf
graph @w(%s: f32[2]) {
  %p = any %s
  return %p
}
graph @d(%s: f32[2]) {
  return %s
}
graph @g(%x: f32[2]) {
  %y = while_loop %x while=@w do=@d bound=-5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:9:3: error: while_loop: the bound is -5; it must be a number of iterations, or -1 for none
? 2

== a constant of a size that varies
<<< a.vf
graph @g(%x: f32[n=1..8]) {
  %y = data values=[1,2] shape=[n]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: data: size n of axis 0 in shape [n] is not constant; literal elements have a constant shape
? 2

== a kernel of gather that is no integer
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = take_along_axis %x, %x axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: take_along_axis: the indices have shape f32[3,4]; x has shape f32[3,4]; indices must be integers: cast them, dtype=i32
? 2

== a window of no axes
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = avg_pool %x kernel=[]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: avg_pool: windows of 0 axes; x has shape f32[4,3]; takes windows of its last axes, 1 to all of them, as in kernel=[2,2]; a single number is the size on all axes behind batch and channels
? 2

== an axis that is a word
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x axes=rows
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: there is no axis 'r'; x has shape f32[4,3]; axes have letters where a type or name_axes gives them
? 2

== a mode that is none
<<< a.vf
graph @g(%x: f32[4,3], %i: i32[2]) {
  %y = take %x, %i axis=0 mode="wrap"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: take: attribute mode is wrap; it is one of check clip fill
? 2

== a step of zero
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = stride %x strides=[0,1]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: stride: there is no attribute strides; attributes: steps; strides is called steps here
? 2

== an expansion of a size that is not one
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = expand %x shape=[8,3]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: expand: shape [8,3] asks for 8 at axis 0; x has shape f32[4,3], 4 there; only sizes of 1 can be expanded, others must be equal
? 2

== a squeeze of a size that is not one
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = squeeze %x axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: squeeze: axis 0 has size 4; x has shape f32[4,3]; only an axis of size 1 can be removed
? 2

== a transpose of one axis
<<< a.vf
graph @g(%x: f32[3]) {
  %y = swap_axes %x axes=[0,1]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: swap_axes: there is no attribute axes; attributes: axis1, axis2; here that is permute %x order=[1,0]
? 2

== an attribute of another name of the operation
<<< a.vf
graph @g(%x: f32[2,3]) {
  %y = transpose %x order=[1,0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: transpose: there is no attribute order; attributes: axis1, axis2; here that is permute %x order=[1,0]
? 2

== a norm of another width
<<< a.vf
graph @g(%x: f32[4,3], %w: f32[4]) {
  %y = layer_norm %x, %w, %w axis=-1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: layer_norm: the weight has shape f32[4]; x has shape f32[4,3], normalised over its last 1 axis; the sizes of a weight are those of these axes, or 1
? 2

== attention of other widths
<<< a.vf
graph @g(%q: f32[2,4], %k: f32[3,5], %v: f32[3,4]) {
  %y = attention %q, %k, %v
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: attention: q has shape f32[2,4], k has shape f32[3,5]; their last sizes, 4 and 5, must be equal
? 2

== a build of nothing
$ viewfold build
! viewfold build: no file given; for example: viewfold build blur.vf -o blur.o
! Try 'viewfold build --help'.
? 2

== assembler of a device
$ viewfold dump good.vf --stage=asm --device opencl
! viewfold dump: --stage=asm is of the processor's kernels, found device 'opencl'; --stage=opencl shows those of OpenCL devices
! Try 'viewfold dump --help'.
? 2

== a folder of test data without any
$ mkdir t; viewfold run good.vf --check=t
! viewfold run: --check: t holds no output_0.pb
! Try 'viewfold run --help'.
? 2

== a profile of a mesh
$ viewfold run good.vf --in x=[1,2] --profile --mesh x=2
! viewfold run: --profile: takes one device; leave out --mesh
! Try 'viewfold run --help'.
? 2

== an import of nothing
$ viewfold import
! viewfold import: no model given; for example: viewfold import model.onnx -o model.vf
! Try 'viewfold import --help'.
? 2

== a page of nothing
$ viewfold show
! viewfold show: no file given; for example: viewfold show 'f32[3,2].permute(1,0)' -o page.html
! Try 'viewfold show --help'.
? 2

== a check of nothing
$ viewfold check
! viewfold check: no file given; for example: viewfold check blur.vf
! Try 'viewfold check --help'.
? 2

== an explanation of nothing
$ viewfold explain
! viewfold explain: no file given; for example: viewfold explain blur.vf
! Try 'viewfold explain --help'.
? 2

== a search of nothing
$ viewfold tune
! viewfold tune: no file given; for example: viewfold tune blur.vf
! Try 'viewfold tune --help'.
? 2

== a tolerance of no command
$ viewfold cache prun
! viewfold cache: unknown action 'prun'; expected stat, prune or verify
! Try 'viewfold cache --help'.
? 2
$ viewfold cache clear
! viewfold cache: unknown action 'clear'; expected stat, prune or verify; `viewfold cache prune --max 0` removes all
! Try 'viewfold cache --help'.
? 2

== a cache that cannot be made
$ VIEWFOLD_CACHE_DIR=/proc/nope viewfold cache stat
! viewfold cache: /proc/nope is not used: No such file or directory; name a directory that can be made and written in VIEWFOLD_CACHE_DIR
? 2
$ VIEWFOLD_CACHE_DIR=/proc/nope viewfold cache prune
! viewfold cache: /proc/nope is not used: No such file or directory; name a directory that can be made and written in VIEWFOLD_CACHE_DIR
? 2
$ VIEWFOLD_CACHE_DIR=/proc/nope viewfold cache verify
! viewfold cache: /proc/nope is not used: No such file or directory; name a directory that can be made and written in VIEWFOLD_CACHE_DIR
? 2

== a dump of nothing
$ viewfold dump good.vf
! viewfold dump: exactly one of --stage and --print-after is needed, as in --stage=kernels
! Try 'viewfold dump --help'.
? 2

== a file that is not there
$ viewfold run nowhere.vf
! nowhere.vf: error: cannot open the file: No such file or directory
? 2

== no file
$ viewfold run
! viewfold run: no file given; for example: viewfold run blur.vf --in x=x.npy --out h=h.npy
! Try 'viewfold run --help'.
? 2

== a command misspelt
$ viewfold rnu good.vf
! viewfold: unknown command 'rnu'; did you mean run?
! Try 'viewfold --help'.
? 2

== an option misspelt
$ viewfold run good.vf --thread 2
! viewfold run: unknown option '--thread'; did you mean --threads?
! Try 'viewfold run --help'.
? 2

== threads that are no number
$ viewfold run good.vf --in x=[1,2] --threads many
! viewfold run: --threads takes a number from 1 to 4096, found 'many'
! Try 'viewfold run --help'.
? 2

== no threads
$ viewfold run good.vf --in x=[1,2] --threads 0
! viewfold run: --threads takes a number from 1 to 4096, found '0'
! Try 'viewfold run --help'.
? 2

== an input missing
$ viewfold run good.vf
! viewfold run: no value for parameter %x: f32[2]; give it as --in x=FILE.npy
! Try 'viewfold run --help'.
? 2

== an input misspelt
$ viewfold run good.vf --in X=[1,2]
! viewfold run: --in: @g has no parameter %X; it has %x
! Try 'viewfold run --help'.
? 2

== an input twice
$ viewfold run good.vf --in x=[1,2] --in x=[1,2]
! viewfold run: --in x is given twice
! Try 'viewfold run --help'.
? 2

== an input without a value
$ viewfold run good.vf --in x
! viewfold run: --in takes NAME=VALUE, found 'x'; as in --in x=FILE.npy
! Try 'viewfold run --help'.
? 2

== an input of another shape
$ viewfold run good.vf --in x=[[1,2]]
! viewfold run: %x is f32[2], but the value given holds f32[1,2]: 2 axes found, 1 expected
? 2

== an input of another length
$ viewfold run good.vf --in x=[1,2,3]
! viewfold run: %x is f32[2], but the value given holds f32[3]: axis 0 has to be 2
? 2

== an input that is no number
$ viewfold run good.vf --in x=[1,two]
! --in x:1:1: error: data: attribute values holds two; it is a list of numbers, nested or flat
? 2

== a bracket missing
$ viewfold run good.vf --in x=[1,2
! --in x:1:5: error: bad list, found the end of the text, expected ',' or ']'
? 2

== a file of an array that is not there
$ viewfold run good.vf --in x=x.npy
! x.npy: error: cannot open the file: No such file or directory
? 2

== a file of an array that is none
$ echo hello > x.npy; viewfold run good.vf --in x=x.npy
! x.npy: error: not a .npy file: it starts with 68 65 6C 6C 6F 0A (text: numpy.loadtxt reads its numbers, and numpy.save writes .npy); expected 93 4E 55 4D 50 59
? 2

== a file of another kind
$ echo hello > x.txt; viewfold run good.vf --in x=x.txt
! x.txt: error: not a .npy file: it starts with 68 65 6C 6C 6F 0A (text: numpy.loadtxt reads its numbers, and numpy.save writes .npy); expected 93 4E 55 4D 50 59
? 2

== an output misspelt
$ viewfold run good.vf --in x=[1,2] --out Y=y.npy
! viewfold run: --out: @g has no value %Y; it has %x, %y
! Try 'viewfold run --help'.
? 2

== an output in no folder
$ viewfold run good.vf --in x=[1,2] --out y=nowhere/y.npy
! nowhere/y.npy: error: cannot write to its folder: No such file or directory
? 2

== an output of no kind
$ viewfold run good.vf --in x=[1,2] --out y
! viewfold run: --out takes NAME=VALUE, found 'y'; as in --out y=FILE.npy
! Try 'viewfold run --help'.
? 2

== a device that is not there
$ viewfold run good.vf --in x=[1,2] --device cuda
! viewfold run: unknown device 'cuda'; expected cpu, c, opencl, opencl:NUMBER or opencl:PART OF NAME
! Try 'viewfold run --help'.
? 2

== a graph that is not there
$ viewfold run good.vf --in x=[1,2] --graph h
! viewfold run: good.vf holds no graph @h; it holds @g
! Try 'viewfold run --help'.
? 2

== a stage that is none
$ viewfold dump good.vf --stage=optimised
! viewfold dump: unknown stage 'optimised'; the stages are graph, shard, spmd, kernels, index, loops, llvm, asm, opencl, c
! Try 'viewfold dump --help'.
? 2

== a pass that is none
$ viewfold dump good.vf --print-after=fusion
! viewfold dump: unknown pass 'fusion'; the passes are physicalize, sizes, scans, lower, channels, reductions, order, integers, tables, constants, values, split, copies, invariants, pack, parts, schedule, regroup, in_place, alternatives, views, fold, index, elementary, canonical, crop, refine, domains, rows, peel, stream, prefetch, separate, stage, share, loops
! Try 'viewfold dump --help'.
? 2

== a profile form that is none
$ viewfold run good.vf --in x=[1,2] --profile=xml
! viewfold run: --profile: no form 'xml'; the forms are text, json and trace
! Try 'viewfold run --help'.
? 2

== a schedule that is not there
$ viewfold run good.vf --in x=[1,2] --schedule s.txt
! s.txt: error: cannot open the file: No such file or directory; --schedule takes a file
? 2

== a schedule that is none
$ echo tile 8 > s.txt; viewfold run good.vf --in x=[1,2] --schedule s.txt
! viewfold run: schedule:1: a line is `kernel NUMBER nest NUMBER: MOVES`, found 'tile 8'
? 2

== a mesh that is none
$ viewfold run good.vf --in x=[1,2] --mesh 4
! viewfold run: --mesh 4: no axis has a name; takes axes and their sizes, as in x=2,y=4
! Try 'viewfold run --help'.
? 2

== a spec of no mesh
$ viewfold run good.vf --in x=[1,2] --shard x=[x]
! viewfold run: --shard takes a mesh; for example: --mesh x=2,y=4
! Try 'viewfold run --help'.
? 2

== a size that is out of bounds
$ viewfold run sized.vf --in x=[1,2,3,4,5,6,7,8,9]
! viewfold run: %x is f32[n], but the value given holds f32[9]: axis 0 makes n = 9, which is not within its bounds 1..8
? 2

== a size twice
$ viewfold run sized.vf --in x=[1,2] --size n=3
! viewfold run: %x is f32[n], but the value given holds f32[2]: axis 0, n, has to be 3 by --size; leave that out
? 2

== a size that is none
$ viewfold run sized.vf --in x=[1,2] --size m=3
! viewfold run: --size: @g has no variable m; it has n
! Try 'viewfold run --help'.
? 2

== an index out of range
$ viewfold run take.vf --in x=[1,2,3] --in i=[0,7]
! viewfold run: graph @g: take %x, %i axis=0: %i[1] is 7, but axis 0 of %x has 3 elements (take.vf:2); indices are -3 to 2, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== an operation that is none
$ viewfold ops softmx
! viewfold ops: no operation 'softmx'; nearest: softmax
! Try 'viewfold ops --help'.
? 2

== an object without a name
$ viewfold build good.vf
! viewfold build: -o FILE is missing: where the object goes
! Try 'viewfold build --help'.
? 2

== an object of no kind
$ viewfold build good.vf -o good.exe
! viewfold build: -o good.exe: the name must end with .o for an object, .a for an archive, .so for a shared object, .s for assembler or .c for C
! Try 'viewfold build --help'.
? 2

== a target that is none
$ viewfold build good.vf -o good.o --target skylake-x
! viewfold build: target: 'skylake-x' is not a setting; use name=value with a name among [..]
? 2
$ viewfold build good.vf -o good.o --target x86_64_V3
! viewfold build: target: 'x86_64_V3' is no processor; did you mean x86-64-v3?
? 2

== a value where an option takes none, before the file
$ viewfold explain --mesh 2 good.vf
! viewfold explain: one file at a time, found 'good.vf' as well; --mesh takes no value
! Try 'viewfold explain --help'.
? 2

== sizes of an object
$ viewfold build good.vf -o good.o --size n=8
! viewfold build: unknown option '--size'; sizes that vary are arguments of the function, in the order that the header tells
! Try 'viewfold build --help'.
? 2

== a workload that is none
$ viewfold bench M9
! viewfold bench: there is no workload 'M9'; --list prints them
! Try 'viewfold bench --help'.
? 2

== a chain with a word that is none
$ viewfold index "f32[4,6].transpose(1,0)"
(ridx0+(ridx1*6))

== a chain with too few axes
$ viewfold index "f32[4,6].permute(1)"
! <chain>:1:10: error: permute: order [1] has 1 entry; x has shape f32[4,6]; an order lists each of its 2 axes exactly once
? 2

== a chain without a dtype
$ viewfold index "[4,6].flip(0)"
! <chain>:1:1: error: unknown dtype, found '[', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2

== a chain of another size
$ viewfold index "f32[4,6].reshape(5,5)"
! <chain>:1:10: error: reshape: shape [5,5] has 25 elements; x has shape f32[4,6], 24 elements; a reshape keeps their number
? 2

== a variable that is no number
$ VIEWFOLD_THREADS=two viewfold run good.vf --in x=[1,2]
! viewfold run: VIEWFOLD_THREADS takes a number from 1 to 4096, found 'two'
! Try 'viewfold run --help'.
? 2

== a word of debugging that is none
$ VIEWFOLD_DEBUG=nans viewfold run good.vf --in x=[1,2]
! viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'nans'
! Try 'viewfold run --help'.
? 2

== a cold cache
$ VIEWFOLD_COMPILE=0 viewfold run good.vf --in x=[1,2]
! viewfold run: VIEWFOLD_COMPILE=0: graph @g needs 1 kernel that the cache does not hold, the first is vf_mul_f32_[..]; run once without VIEWFOLD_COMPILE=0 to compile and keep them
? 3

== a model that is none
$ echo hello > m.onnx; viewfold run m.onnx
! m.onnx: error: no ONNX model, but text; a text of graphs has a name that does not end in .onnx, such as net.vf
? 2
$ printf '\001\007\377\377' > m.onnx; viewfold run m.onnx
! m.onnx: error: no ONNX model, or a damaged one: byte 1: a field is longer than what is left in a message ModelProto; the file is cut off or damaged
? 2

== a kernel that is not there
$ viewfold explain good.vf --kernel 9
! viewfold explain: --kernel: there is no kernel 9; without it, the table lists them
! Try 'viewfold explain --help'.
? 2

== a page in no folder
$ viewfold show good.vf -o nowhere/page.html
! nowhere/page.html: error: cannot write to its folder: No such file or directory
? 2

== operands without a comma
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = matmul %x %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:18: error: operands without a comma, found '%', expected ',' between them, as in add %x, %y
? 2

== operands in brackets
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = concat [%x, %x] axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:15: error: a list in place of operands, found '[', expected operands without brackets, as in concat %x, %y; a list is an attribute, as in values=[1,2]; those of concat: axis
? 2

== operands in parentheses
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = add(%x, %x)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:14: error: operands in parentheses, found ',', expected operands without them, as in add %x, %y
? 2

== attributes behind a comma
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x, axes=[0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad operand, found 'axes', expected %NAME or a number; attributes follow the operands without a comma, as in sum %x axes=[0]
? 2

== a list without brackets
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = sum %x axis=0,1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:21: error: bad attribute, found ',', expected a blank before the next one; several values are a list, as in axes=[0,1]
? 2

== a list without a name
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = reshape %x [12]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:19: error: a list without a name, found '[', expected an attribute, as in shape=[2,3]; those of reshape: shape
? 2

== operands behind attributes
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = max axis=1, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:18: error: bad attribute, found ',', expected a blank before the next one; several values are a list, as in axes=[0,1]
? 2

== operands behind an attribute
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = max %x axis=1 %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:23: error: unknown name in an expression, found 'x', expected operands before attributes
? 2

== a text in place of an operand
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = einsum "ij,jk->ik" %x, %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:15: error: a text in place of an operand, found '"ij,jk->ik"', expected %NAME or a number; a text is an attribute, as in equation="ij,jk->ik" of einsum, and from="a(bc=2)" to="abc" of rearrange; those of einsum: equation
? 2

== a text without quotes
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = einsum %x equation=ij->i
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:27: error: unknown name in an expression, found 'ij', expected a text in quotes
? 2

== a number without a digit before the point
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = mul %x, .5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad number, found '.', expected digits on both sides of the point, as in 0.5 and 5.0
? 2

== a comment of C
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = exp %x // twice
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:15: error: no comment, found '//', expected '#', with which a comment begins
? 2

== an operation that is nowhere near
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = toaster %x p=0.5
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: toaster: there is no such operation; docs/operations.md and `viewfold ops` list them
? 2

== an operand where attributes belong
<<< a.vf
graph @g(%x: f32[4,3]) {
  %y = arange 10
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: arange: 1 operand given; takes 0; attributes: start, stop, step, dtype
? 2

== results that go to a file of another kind
$ viewfold run good.vf --in x=[1,2] --out y=y.csv
! viewfold run: --out y.csv: results are written as .npy; a name that ends with .csv would mislead
! Try 'viewfold run --help'.
? 2

== arrays of a graph that is not run
$ viewfold build good.vf -o g.o --in x=[1,2]
! viewfold build: --in x: it tells the importer of an ONNX model an input that it must know; good.vf is a graph, to which `viewfold run` gives arrays
! Try 'viewfold build --help'.
? 2

== a value behind an option that takes none
$ viewfold run good.vf --in x=[1,2] --time 5
! viewfold run: one graph at a time, found '5' as well; arrays are given by name, as in --in x=x.npy; --time takes no value
! Try 'viewfold run --help'.
? 2

== arrays in place of a graph
$ printf '\223NUMPY' > x.npy; viewfold run x.npy
! x.npy: error: it is an array of NumPy, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy
? 2

== a list in parentheses
$ printf 'graph @g(%%x: f32[4,6]) {\n  %%y = reshape %%x shape=(6,4)\n  return %%y\n}\n' > p.vf; viewfold run p.vf
! p.vf:2:27: error: a list in parentheses, found ',', expected brackets around it, as in shape=[2,3]
? 2

== a semicolon between sizes
$ printf 'graph @g(%%x: f32[4;6]) {\n  return %%x\n}\n' > p.vf; viewfold run p.vf
! p.vf:1:19: error: unexpected character, found ';', expected the end of the line, which ends a statement, or ',' within a list
? 2

== an array without brackets
$ viewfold run good.vf --in x=1,2
! viewfold run: 1,2: there is no such file; an array itself stands in brackets, as in --in x=[1,2]
? 2

== a profile that is not there
$ viewfold show good.vf -o p.html --profile p.json
! viewfold show: unable to open p.json: No such file or directory; `viewfold run --profile=json FILE.vf > PROFILE` writes one
? 2

== options with names of other commands
$ viewfold check good.vf --seed 1
! viewfold check: unknown option '--seed'; inputs are those of fixed seeds, or of --in
! Try 'viewfold check --help'.
? 2
$ viewfold tune good.vf --budget 5
! viewfold tune: unknown option '--budget'; there are --in, --size, --graph, --threads, --seconds, -o, --device, --dry-run, --list, --forget and --help
! Try 'viewfold tune --help'.
? 2

== a file where a chain is expected
$ viewfold index good.vf
! viewfold index: takes a chain such as 'f32[3,2].permute(1,0)', found the file 'good.vf'; the index expressions of a graph are printed by `viewfold dump --stage=index good.vf`
! Try 'viewfold index --help'.
? 2

== a result over an input of the run, which stays as it is
$ viewfold run good.vf --in x=[1,2] --out y=x.npy
$ cp x.npy before.npy; ln -s x.npy link.npy
> viewfold run good.vf --in x=x.npy --out y=link.npy; status=$?; cmp x.npy before.npy; exit $status
! viewfold run: --out y=link.npy: the run reads that file, as --in x; write another one
! Try 'viewfold run --help'.
? 2

== a result over the graph
$ cp good.vf own.npy
> viewfold run own.npy --in x=[1,2] --out y=own.npy; status=$?; cmp own.npy good.vf; exit $status
! viewfold run: --out y=own.npy: that is the graph's file; write another one
! Try 'viewfold run --help'.
? 2

== a parenthesis missing
<<< a.vf
graph @g(%x: f32[4] {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:21: error: bad parameters, found '{', expected ',' and another one, or ')'
? 2

== a size that varies, as a slice
<<< a.vf
graph @g(%x: f32[n=1:8]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:21: error: bad shape, found ':', expected '..' between the bounds of a size that varies, as in n=1..8
? 2

== a size that varies, as a question mark
<<< a.vf
graph @g(%x: f32[?,4]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:18: error: bad size, found '?', expected a whole number; a size that varies is a variable with its bounds, as in n=1..8
? 2

== sizes with an x between them
<<< a.vf
graph @g(%x: f32[4x4]) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:18: error: malformed number, found '4' followed by a letter, expected digits and, between sizes, ',', as in f32[4,4]
? 2

== a head with the type of the result
<<< a.vf
graph @g(%x: f32[4]) -> f32[4] {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:22: error: missing body of the graph, found '-', expected '{'; what a graph returns follows from its body
? 2

== an equation without quotes
<<< a.vf
graph @g(%x: f32[4]) {
  %y = einsum %x, %x equation=i,i->i
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:32: error: a text without quotes, found ',', expected quotes around it, as in equation="ij,jk->ik"
? 2

== an equation in single quotes
<<< a.vf
graph @g(%x: f32[4]) {
  %y = einsum %x, %x equation='i,i->i'
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:31: error: unexpected character, found ''', expected '"', with which a text begins and ends
? 2

== a number that its dtype does not hold
<<< a.vf
graph @g(%x: f16[4]) {
  %y = mul %x, f16(1e6)
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:20: error: number out of range, found 1e+06, expected one that f16 holds, or inf
? 2
$ sed 's/f16(1e6)/1e6/' a.vf > b.vf
> viewfold dump --stage=graph b.vf
! b.vf:2:3: error: mul: the value 1000000.0 does not fit f16, which holds -65504..65504; use a value in that range or cast the other operand
? 2

== a file in place of a command
$ viewfold good.vf
! viewfold: 'good.vf' in place of a command; a command comes first, as in: viewfold run good.vf
! Try 'viewfold --help'.
? 2

== an option of one letter
$ viewfold run good.vf --in x=[1,2] -o y.npy
! viewfold run: unknown option '-o'; --out NAME=FILE.npy writes the value %NAME to a file
! Try 'viewfold run --help'.
? 2

== a product as in Python
<<< a.vf
graph @g(%x: f32[4]) {
  %y = %x @ %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '@', expected the end of the line; what is %x @ %y elsewhere is matmul %x, %y
? 2

== a graph in place of an operand
<<< a.vf
graph @g(%x: f32[4]) {
  %y = call @f %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:13: error: a graph in place of an operand, found '@', expected operands, and then graphs as in do=@f
? 2

== a list in place of an operand
<<< a.vf
graph @g(%x: f32[4]) {
  %y = gather %x, [0,1] axis=0
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:19: error: a list in place of an operand, found '[', expected %NAME or a number; a list is an attribute, as in shape=[2,3], and an array of numbers %i = data values=[0,2]; those of gather: axis, mode, batch
? 2

== a loop of another language
<<< a.vf
graph @g(%x: f32[4]) {
  for i in 0..3 {
  %y = exp %x
  }
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: bad statement, found 'for', expected '%NAME = ...' or 'return'; a loop is %y = scan or %y = while_loop, of graphs above this one
? 2
$ sed 's/for .*/if %x {/' a.vf > b.vf
> viewfold dump --stage=graph b.vf
! b.vf:2:3: error: bad statement, found 'if', expected '%NAME = ...' or 'return'; a condition is %y = cond %p, %x then=@f else=@g, or where for each element
? 2

== a type before its name
<<< a.vf
graph @g(f32[4] %x) {
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:10: error: a type without a name, found 'f32', expected the name before it, as in %x: f32[2,3]
? 2

== values returned without a comma
<<< a.vf
graph @g(%x: f32[4]) {
  %y = exp %x
  return %y %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:13: error: values without a comma, found '%', expected ',' between them, or the end of the line
? 2

== return behind a statement
<<< a.vf
graph @g(%x: f32[4]) { %y = exp %x return %y }
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:36: error: return behind a statement, found 'return', expected it on a line of its own
? 2

== axes of a transpose
<<< a.vf
graph @f(%x: f32[2,3]) {
  %y = transpose %x axes=[1,0]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: transpose: there is no attribute axes; attributes: axis1, axis2; here that is permute %x order=[1,0]
? 2

== a type as in MLIR
<<< a.vf
graph @f(%a: tensor<2x3xf32>) {
  %y = relu %a
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:14: error: unknown dtype, found 'tensor', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2

== a name that consists of names
<<< a.vf
graph @f(%a: f32[2,3]) {
  %y = mean_squared_error %a, %a
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: mean_squared_error: there is no such operation; here it is %d = sub %x, %y; %s = square %d; %z = mean %s
? 2

== channels last
<<< a.vf
graph @f(%x: f32[1,8,8,3], %w: f32[3,3,3,4]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: conv: x has shape f32[1,8,8,3], 8 channels; the weight has shape f32[3,3,3,4], for 3 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the weight [results, channels / groups, ...]; channels that are last are put there by permute %x order=[0,3,1,2]; a weight whose channels and results are last is put so by permute %w order=[3,2,0,1]
? 2

== a label of the result that no operand has
<<< a.vf
graph @f(%a: f32[2,3]) {
  %y = einsum %a equation="ij->ik"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: einsum: equation 'ij->ik': the result has 'k', which no operand has; an equation is like 'ij,jk->ik' or '...ii->...i'
? 2

== a graph in place of which is a value
<<< a.vf
graph @a(%x: f32[2]) {
  return %x
}
graph @f(%x: f32[2]) {
  %l = call %x do=%a
  return %l
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:5:19: error: unknown value, found '%a', expected a parameter or the result of a statement above; a graph is named by @, as in do=@f
? 2

== an operand is missing
<<< a.vf
graph @f(%x: f32[4], %u: f32[2]) {
  %v = shrink %x bounds=[[1,3]]
  %y = assign %v, %u
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:3: error: assign: 2 operands given; takes 3: x, target, update; `viewfold ops assign` shows how
? 2

== v of attention is missing
<<< a.vf
graph @f(%q: f32[2,4,8], %k: f32[2,4,8]) {
  %v = attention %q, %k
  return %v
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: attention: 2 operands given; takes 3 or 4: q, k, v, perhaps mask; `viewfold ops attention` shows how
? 2

== a name with a dash
<<< a.vf
graph @f(%x: i32[4]) {
  %my-val = square %x
  return %my-val
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:6: error: bad name, found '-', expected '='; a name with '-' in it has quotes, as in %"a-b"
? 2

== indices of another rank
<<< a.vf
graph @f(%x: f32[3,4], %i: i64[3]) {
  %y = take_along_axis %x, %i axis=1
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: take_along_axis: the indices have shape i64[3]; x has shape f32[3,4]; the indices must have 2 axes, as x has
? 2

== a pattern as of einops
<<< a.vf
graph @f(%x: f32[2,6]) {
  %y = rearrange %x "a (b c) -> a b c" b=2
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:21: error: a text in place of an operand, found '"a (b c) -> a b c"', expected %NAME or a number; a text is an attribute, as in equation="ij,jk->ik" of einsum, and from="a(bc=2)" to="abc" of rearrange; those of rearrange: from, to, reduce
? 2

== NaN
<<< a.vf
graph @f(%a: f32[4]) {
  %y = add %a, NaN
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad number, found 'NaN', expected nan, as it is called here
? 2

== words of the name of an operation
<<< a.vf
graph @g(%x: f32[4]) {
  %y = deviation_of_mean %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: deviation_of_mean: there is no such operation; there are mean
? 2

== a label of the result twice
<<< a.vf
graph @g(%x: f32[4]) {
  %y = einsum %x equation="i->ii"
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: einsum: equation 'i->ii': the result has 'i' twice; it may have each label once; an equation is like 'ij,jk->ik' or '...ii->...i'
? 2

== the same of one-dimensional data
<<< a.vf
graph @g(%x: f32[1,8,3], %w: f32[3,3,4]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: conv: x has shape f32[1,8,3], 8 channels; the weight has shape f32[3,3,4], for 3 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the weight [results, channels / groups, ...]; channels that are last are put there by permute %x order=[0,2,1]
? 2

== the weight of a transposed convolution
<<< a.vf
graph @g(%x: f32[1,3,8,8], %w: f32[4,3,3,3]) {
  %y = conv_transpose %x, %w
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: conv_transpose: x has shape f32[1,3,8,8], 3 channels; the weight has shape f32[4,3,3,3], for 4 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the weight [channels, results / groups, ...]
? 2

== an operation without a name for its result
<<< a.vf
graph @g(%x: f32[4]) {
  relu %x
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: bad statement, found 'relu', expected a name for what it gives, as in %y = relu %x
? 2

== print and tap without one
<<< a.vf
graph @g(%x: f32[4]) {
  print %x text="x"
  return %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: bad statement, found 'print', expected a name for what it gives, as in %q = print %x text="x = {}", which is %x again
? 2
<<< b.vf
graph @g(%x: f32[4]) {
  tap %x name="x"
  return %x
}
>>>
$ viewfold dump --stage=graph b.vf
! b.vf:2:3: error: bad statement, found 'tap', expected a name for what it gives, as in %q = tap %x name="x", which is %x again
? 2

== a value that the graph does not have
$ viewfold run good.vf --in x=[1,2] --out z=z.npy
! viewfold run: --out: @g has no value %z; it has %x, %y
! Try 'viewfold run --help'.
? 2
$ viewfold run good.vf --in x=[1,2] --mesh d=2 --shard z=[d]
! viewfold run: --shard: @g has no value %z; it has %x, %y
! Try 'viewfold run --help'.
? 2
$ viewfold run good.vf --in x=[1,2] --mesh d=2 --shard x=[d] --shard x=[-]
! viewfold run: --shard x is given twice
! Try 'viewfold run --help'.
? 2
$ viewfold run good.vf --in x=[1,2] --mesh d=2 --shard "x=P('d')"
! viewfold run: --shard x: spec:1:1: error: missing spec, found 'P', expected '['; a spec has an axis of the mesh, or -, for each axis of the array, as in [-,x]; as it is written here: [d]
! Try 'viewfold run --help'.
? 2
<<< loop.vf
graph @acc(%c: f32[2], %x: f32[2]) {
  %s = add %c, %x
  %l = log %s
  return %s, %l
}
graph @main(%xs: f32[3,2]) {
  %z = zeros shape=[2]
  %last, %logs = scan %z, %xs do=@acc
  %y = sum %logs
  return %last, %y
}
>>>
$ viewfold run loop.vf --in xs=[[1,2],[3,4],[5,6]] --out s=s.npy
! viewfold run: --out: @main has no value %s; @acc has one, whose values are not those of one call: return it from there, or show it by %q = print %s text="s = {}"
! Try 'viewfold run --help'.
? 2

== brackets in a chain
$ viewfold index 'f32[3,2][1:]'
! <chain>:1:9: error: brackets in a chain, found '[', expected '.' and a view; [1:, ::2] elsewhere is .shrink((1,3),(0,2)).stride(1,2) here
? 2

== commands and options that are near to none
$ viewfold rn good.vf
! viewfold: unknown command 'rn'; did you mean run?
! Try 'viewfold --help'.
? 2
$ viewfold -v
! viewfold: unknown option '-v'; did you mean --version?
! Try 'viewfold --help'.
? 2
$ viewfold compile good.vf
! viewfold: unknown command 'compile'; `viewfold build FILE.vf` makes an object file, and `viewfold run` compiles by itself
! Try 'viewfold --help'.
? 2
$ viewfold run good.vf --tol 1
! viewfold run: unknown option '--tol'; there are --in, --out, --size, --graph, --device, --threads, --target, --mesh, --shard, --wire, --auto, --schedule, --check, --time, --profile and --help
! Try 'viewfold run --help'.
? 2

== a device that the environment names
$ VIEWFOLD_DEVICE=nvidia viewfold run good.vf --in x=[1,2]
! viewfold run: VIEWFOLD_DEVICE names an unknown device 'nvidia'; expected cpu, c, opencl, opencl:NUMBER or opencl:PART OF NAME
! Try 'viewfold run --help'.
? 2

== a device of a mesh that there cannot be
<<< m.vf
mesh @m [x=2] devices=["cpu","gpu:0"]
graph @f(%a: f32[8]) {
  %y = neg %a
  return %y
}
>>>
$ viewfold run m.vf --in a=[1,2,3,4,5,6,7,8]
! m.vf: error: device 1 of the mesh is "gpu:0"; there are cpu, c, opencl, opencl:NUMBER and opencl:PART OF NAME
? 2

== no profile
$ viewfold show good.vf --profile good.vf -o p.html
! viewfold show: good.vf: no profile: line 1: '[' or '{' expected near 'graph'; `viewfold run --profile=json FILE.vf > PROFILE` writes one
? 2
$ echo {} > p.json; viewfold show good.vf --profile p.json -o p.html
! viewfold show: p.json: no profile: it has no list "kernels"; `viewfold run --profile=json FILE.vf > PROFILE` writes one
? 2

== a kernel in place of a graph
$ viewfold dump --stage=loops good.vf > k.vf; viewfold run k.vf
! viewfold run: k.vf holds no tensor graph, but the kernel @g_0; this command takes graphs
! Try 'viewfold run --help'.
? 2

== files of another kind by their first bytes
$ printf '\377\376g\000' > u.vf; viewfold run u.vf
! u.vf: error: it is text in UTF-16, not UTF-8; save it as UTF-8
? 2
$ printf '\376\377\000g' > u.vf; viewfold run u.vf
! u.vf: error: it is text in UTF-16, not UTF-8; save it as UTF-8
? 2
$ printf '\357\273\277graph' > u.vf; viewfold run u.vf
! u.vf: error: it is text that begins with a byte order mark; save it as UTF-8 without one
? 2
$ printf 'PK\003\004' > u.vf; viewfold run u.vf
! u.vf: error: it is an archive, as of .npz, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy
? 2
$ printf '\177ELF' > u.vf; viewfold run u.vf
! u.vf: error: it is an object file or a program, not a text of graphs; `viewfold build` makes it of a text
? 2
$ printf '\010\010\022\001x' > u.vf; viewfold run u.vf
! u.vf: error: it is an ONNX model, not a text of graphs; give it a name that ends in .onnx
? 2
$ cp good.vf good.onnx; viewfold run good.onnx
! good.onnx: error: no ONNX model, but text; a text of graphs has a name that does not end in .onnx, such as net.vf
? 2

== a mesh, as elsewhere
$ viewfold mesh calibrate 2x2
! viewfold mesh: 2x2: mesh:1:1: error: missing axis of a mesh, found '2x2', expected names and sizes, as in x=2,y=4
! Try 'viewfold mesh --help'.
? 2

== a dtype behind an operation that takes none
<<< a.vf
graph @g(%x: f32[4]) {
  %y = relu %x f32
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: a dtype without a name, found 'f32', expected an attribute, as in dtype=f32; relu has no attributes
? 2

== the results of minmax
<<< a.vf
graph @g(%x: f32[4]) {
  %y = minmax %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: wrong number of results of minmax, found 1 name, expected 2, as in %least, %greatest = minmax
? 2

== a slice by its end
<<< a.vf
graph @g(%x: f32[8]) {
  %y = slice %x start=[4] size=[8]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: slice: start 4 and size 8 do not fit axis 0; x has shape f32[8]; takes 0 <= start, which counts from the end where it is negative, 0 <= size and start + size <= 8; a size is a number of elements: from 4 up to 8 it is 4
? 2
