# What is written in other languages, and what stands for it here.

== ret
<<< a.vf
graph @f(%x: f32[2,3]) {
  %y = neg %x
  ret %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:3:3: error: bad statement, found 'ret', expected return, as in return %y
? 2

== an operation that is returned
<<< a.vf
graph @f(%x: f32[2,3]) {
  return neg %x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:10: error: an operation in place of a result, found 'neg', expected %NAME; an operation has a line of its own before, as in %y = neg %x, and then return %y
? 2

== a comparison as in C
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = %x <= 2
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '<=', expected the end of the line; what is %x <= %y elsewhere is le %x, %y
? 2

== a power as in Python
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = %x ** 2
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '**', expected the end of the line; what is %x ** %y elsewhere is pow %x, %y
? 2

== a remainder as in Python
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = %x % 2
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '%', expected the end of the line; what is %x % %y elsewhere is mod %x, %y
? 2

== a sign before a value
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = -%x
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:9: error: bad literal, found '%', expected a number; what is -%x elsewhere is neg %x
? 2

== a default of a parameter, a kernel's size, heads
<<< a.vf
graph @f(%x: f32[2,8]=0) {
  return %x
}
>>>
<<< b.vf
graph @f(%x: f32[1,3,8,8], %w: f32[4,3,3,3]) {
  %z = conv %x, %w kernel_size=3
  return %z
}
>>>
<<< c.vf
graph @f(%x: f32[2,8,8]) {
  %z = attention %x, %x, %x num_heads=2
  return %z
}
>>>
$ viewfold run a.vf; viewfold run b.vf; viewfold run c.vf
! a.vf:1:22: error: bad parameters, found '=', expected ',' or ')'; a parameter is given when the graph runs, as in --in x=0
! b.vf:2:3: error: conv: there is no attribute kernel_size; attributes: stride, padding, dilation, precision, groups; here that is the shape of the second operand: windows of 3 by 3 are of %w: f32[8,4,3,3]
! c.vf:2:3: error: attention: there is no attribute num_heads; attributes: scale, causal; here that is an axis of %q, %k and %v: f32[batch,heads,n,d]
? 2

== an operation in parentheses
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = relu (neg %x)
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:14: error: unknown name in an expression, found 'neg', expected a value; an operation on arrays has a line of its own, as in %t = neg %x
? 2

== operations as functions of each other
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = relu(neg(%x))
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:13: error: neg of an array of f32 within a statement; an operation on arrays has a line of its own, as in %t = neg %x
? 2

== a function that is no elementwise operation
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = add(softmax(%x), %x)
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:12: error: unknown function in an expression, found 'softmax', expected min, max, where or another elementwise operation; an operation on arrays has a line of its own, as in %t = neg %x
? 2

== an operation as an operand
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = add %x, neg %x
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: bad operand, found 'neg', expected %NAME or a number; an operation has a line of its own, as in %t = neg %x
? 2

== a method
<<< a.vf
graph @f(%x: f32[2,8]) {
  %z = %x.sum()
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:10: error: a value has no members, found '.', expected the end of the line; what is %x.sum() elsewhere is sum %x, and %x.T transpose %x
? 2

== a list as a value
<<< a.vf
graph @f() {
  %z = [1,2,3]
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:8: error: bad statement, found '[', expected the name of an operation; an array of numbers is data values=[0,2]
? 2

== a type behind the name
<<< a.vf
graph @f(%x: f32[2]) {
  %y: f32[2] = neg %x
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:5: error: bad statement, found ':', expected '='; the type of a result stands behind it, as in %y = neg %x : f32[2,3]
? 2

== an attribute with a colon
<<< a.vf
graph @f(%x: f32[2,3]) {
  %y = sum %x axes: [1]
  return %y
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:19: error: bad attribute, found ':', expected '=', as in axes=[1]
? 2

== sizes of parts
<<< a.vf
graph @f(%x: f32[7]) {
  %a, %b = split %x sizes=[3,4] axis=0
  return %a
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: split: there is no attribute sizes; attributes: axis, parts; here that is slice %x start=[0] size=[3], one for each part: those of split are equal
? 2

== an inverse
<<< a.vf
graph @f(%x: f32[8,8]) {
  %a = inv %x
  return %a
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: inv: there is no such operation; factorisations and inverses are computed outside
? 2

== the rows of an identity matrix
<<< a.vf
graph @f() {
  %z = eye n=3
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: eye: there is no attribute n; attributes: shape, diagonal, dtype; here that is eye shape=[3,3]
? 2

== dims of permute
<<< a.vf
graph @f(%x: f32[4,3]) {
  %z = permute %x dims=[1,0]
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: permute: there is no attribute dims; attributes: order; dims is called order here
? 2

== a text as an operand
<<< a.vf
graph @f(%x: f32[4,3]) {
  %z = cast %x, "f16"
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:17: error: a text in place of an operand, found '"f16"', expected %NAME or a number; a text is an attribute, as in equation="ij,jk->ik" of einsum, and from="a(bc=2)" to="abc" of rearrange; those of cast: dtype
? 2

== a dtype as an operation
<<< a.vf
graph @f(%x: f32[4,3]) {
  %z = f16 %x
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: f16: there is no such operation; here it is %z = cast %x dtype=f16
? 2

== an operation in quotes
<<< a.vf
graph @f(%x: f32[4,3]) {
  %z = "stablehlo.add"(%x, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:8: error: bad statement, found '"stablehlo.add"', expected the name of an operation, without quotes
? 2

== a letter outside of ASCII
<<< a.vf
graph @f(%α: f32[4,3]) {
  return %α
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:1:11: error: unexpected character, found 'α', expected a character of ASCII; a name of others stands in quotes, as in %"α"
? 2

== a minus sign of typography
<<< a.vf
graph @f(%x: f32[4,3]) {
  %z = add %x, −1
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:16: error: unexpected character, found '−', expected '-'
? 2

== quotes of typography
<<< a.vf
graph @f(%x: f32[4,4]) {
  %z = einsum %x equation=“ii->i”
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:27: error: unexpected character, found '“', expected '"'
? 2

== an axis of the batch
<<< a.vf
graph @f(%x: f32[3|4]) {
  %z = sum %x axes=[1]
  return %z
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:3: error: sum: axis 1 is out of range; x has shape f32[3|4]; the axis must lie in -1..0: axes of the batch, before |, are not counted
? 2

== a floor division as in Python
<<< a.vf
graph @f(%x: f32[2,2]) {
  %r = %x // 2
  return %r
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:11: error: an operation is a word before its operands, found '//', expected the end of the line; what is %x // %y elsewhere is floordiv %x, %y
? 2

== a name without its sign
<<< a.vf
graph @f(%x: f32[2,2]) {
  return x
}
>>>
$ viewfold dump --stage=graph a.vf
! a.vf:2:10: error: bad operand, found 'x', expected %x, as values are named
? 2
