# viewfold index: bad chains and bad usage.

== no chain at all
$ viewfold index ''
! <chain>:1:1: error: unknown dtype, found the end of the text, expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2

== dtypes
$ viewfold index 'f33[2]'
! <chain>:1:1: error: unknown dtype, found 'f33', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2
$ viewfold index 'index[2]'
! <chain>:1:1: error: unknown dtype, found 'index', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2

== shapes
$ viewfold index 'f32'
! <chain>:1:4: error: missing shape, found the end of the text, expected '[', as in f32[2,3], or f32[] for one number
? 2
$ viewfold index 'f32[2'
! <chain>:1:6: error: bad shape, found the end of the text, expected ',' or ']', as in f32[2,3]
? 2
$ viewfold index 'f32[2,x]'
! <chain>:1:7: error: unknown name in an expression, found 'x', expected a number, or a variable, which has its bounds where it stands first, as in n=1..8
? 2
$ viewfold index 'f32[-1]'
! <chain>:1:5: error: bad size, found a negative number, expected one >= 0; a size that varies is a variable with its bounds, as in n=1..8
? 2
$ viewfold index 'f32[True]'
! <chain>:1:5: error: bad size, found another dtype, expected an index expression that is not negative
? 2
$ viewfold index 'f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]'
! <chain>:1:37: error: rank too high, found '1', expected at most 16 sizes
? 2
$ viewfold index 'f32[4294967296,4294967296]'
! <chain>:1:1: error: input: a result of shape f32[4294967296,4294967296] is too large; its bytes must number less than 2^63
? 2

== variables
$ viewfold index 'f32[n=8..3]'
! <chain>:1:6: error: bad bounds of a variable, found 8..3:1, expected low <= high, a divisor >= 1 and a multiple of it between them
? 2
$ viewfold index 'f32[n=4..8,n=4..9]'
! <chain>:1:12: error: variable declared again with other bounds, found 'n', expected its name alone
? 2
$ viewfold index 'f32[n=5..7:4]'
! <chain>:1:6: error: bad bounds of a variable, found 5..7:4, expected low <= high, a divisor >= 1 and a multiple of it between them
? 2
$ viewfold index 'f32[ridx0=1..2]'
! <chain>:1:5: error: unknown range, found 'ridx0', expected a range of an enclosing loop
? 2

== views that do not exist
$ viewfold index 'f32[2].permut(0)'
! <chain>:1:8: error: unknown view, found 'permut'; did you mean permute?
? 2
$ viewfold index 'f32[2].frobnicate(0)'
! <chain>:1:8: error: unknown view, found 'frobnicate', expected one such as permute, reshape, expand, pad, shrink, flip, stride
? 2
$ viewfold index 'f32[2].matmul(0)'
! <chain>:1:8: error: unknown view, found 'matmul', expected one such as permute, reshape, expand, pad, shrink, flip, stride
? 2

== text between the views
$ viewfold index 'f32[2].'
! <chain>:1:8: error: missing view after '.', found the end of the text, expected a name such as permute
? 2
$ viewfold index 'f32[2]flip(0)'
! <chain>:1:7: error: unexpected text in a chain, found 'flip', expected '.' and a view, or the end
? 2
$ viewfold index 'f32[2].flip'
! <chain>:1:12: error: missing values of a step, found the end of the text, expected '('
? 2
$ viewfold index 'f32[2].flip(0'
! <chain>:1:14: error: bad values of a step, found the end of the text, expected ',' or ')'
? 2
$ viewfold index 'f32[2].flip(0) x'
! <chain>:1:16: error: unexpected text in a chain, found 'x', expected '.' and a view, or the end
? 2
$ viewfold index 'f32[2].flip(0 0)'
! <chain>:1:15: error: bad values of a step, found '0', expected ',' or ')'
? 2
$ viewfold index 'f32[2].$'
! <chain>:1:8: error: unexpected character, found '$', expected '%', with which the name of a value begins, as in %x
? 2

== values
$ viewfold index 'f32[2].reshape(n)'
! <chain>:1:16: error: bad value of a step, found 'n', expected an integer or a variable of the buffer's shape, as in f32[n=1..8]
? 2
$ viewfold index 'f32[2].flip(0.5)'
! <chain>:1:13: error: bad value of a step, found '0.5', expected an integer or a variable of the buffer's shape, as in f32[n=1..8]
? 2
$ viewfold index 'f32[4].pad(1,2)'
! <chain>:1:12: error: bad pair, found '1', expected '(', a pair for each axis, as in pad((1,0),(0,2))
? 2
$ viewfold index 'f32[4].pad((1,2,3))'
! <chain>:1:16: error: bad pair, found ',', expected ')'
? 2
$ viewfold index 'f32[4].shrink((1))'
! <chain>:1:17: error: bad pair, found ')', expected ','
? 2
$ viewfold index 'f32[2].reshape(99999999999999999999)'
! <chain>:1:16: error: integer too large, found '99999999999999999999', expected at most 18446744073709551615
? 2
$ viewfold index 'f32[4].point(0,1,2)'
! <chain>:1:18: error: too many values, found '2', expected ')': point takes axis and index
? 2
$ viewfold index 'f32[4].flip(True)'
! <chain>:1:13: error: bad value of a step, found 'True', expected an integer or a variable of the buffer's shape, as in f32[n=1..8]
? 2

== named values
$ viewfold index 'f32[2].permute(ordre=[0])'
! <chain>:1:8: error: permute: there is no attribute ordre; attributes: order
? 2
$ viewfold index 'f32[2].permute(order=[0],order=[0])'
! <chain>:1:8: error: permute: attribute order is given twice; give it once
? 2
$ viewfold index 'f32[2].pad((1,1),mode=edge,2)'
! <chain>:1:28: error: a value after a named one, found '2', expected name=value
? 2
$ viewfold index 'f32[4].pad((4,0),mode=mirror)'
! <chain>:1:8: error: pad: attribute mode is mirror; it is one of constant edge reflect wrap
? 2
$ viewfold index 'f32[4].pad((1,1),mode=edge,value=3)'
! <chain>:1:8: error: pad: mode=edge fills with elements of x, so a value has no use; leave it out, or use mode=constant
? 2
$ viewfold index 'f32[4].pad((1,2),value=x)'
! <chain>:1:8: error: pad: attribute value is x; it is a number, true or false
? 2

== permute
$ viewfold index 'f32[3,2].permute(0,0)'
! <chain>:1:10: error: permute: order [0,0] repeats axis 0; x has shape f32[3,2]; an order lists each of the axes 0..1 exactly once
? 2
$ viewfold index 'f32[3,2].permute(0)'
! <chain>:1:10: error: permute: order [0] has 1 entry; x has shape f32[3,2]; an order lists each of its 2 axes exactly once
? 2
$ viewfold index 'f32[3,2].permute(0,2)'
! <chain>:1:10: error: permute: order [0,2] has 2, which is no axis; x has shape f32[3,2]; an order lists each of the axes 0..1 exactly once
? 2

== reshape
$ viewfold index 'f32[3,2].reshape(4,2)'
! <chain>:1:10: error: reshape: shape [4,2] has 8 elements; x has shape f32[3,2], 6 elements; a reshape keeps their number
? 2
$ viewfold index 'f32[3,2].reshape(-1,-1)'
! <chain>:1:10: error: reshape: shape [-1,-1] has more than one -1; x has shape f32[3,2]; at most one size can be inferred
? 2
$ viewfold index 'f32[3,2].reshape(4,-1)'
! <chain>:1:10: error: reshape: the -1 of shape [4,-1] cannot be inferred: 6 elements of x do not divide by 4; x has shape f32[3,2]; the other sizes must divide the number of elements
? 2
$ viewfold index 'f32[n=3..8].reshape(2,-1)'
! <chain>:1:13: error: reshape: the -1 of shape [2,-1] cannot be inferred: n elements of x do not provably divide by 2; x has shape f32[n]; the other sizes must divide the number of elements; needs (n%2) == 0, known: 3 <= n <= 8; declare n=3..8:2
? 2

== expand
$ viewfold index 'f32[3,2].expand(3,4)'
! <chain>:1:10: error: expand: shape [3,4] asks for 4 at axis 1; x has shape f32[3,2], 2 there; only sizes of 1 can be expanded, others must be equal
? 2
$ viewfold index 'f32[3,1].expand(4)'
! <chain>:1:10: error: expand: 1 size given; x has shape f32[3,1]; each of its 2 axes takes one, and broadcast_to adds leading axes
? 2
$ viewfold index 'f32[3,2].broadcast_to(2)'
! <chain>:1:10: error: broadcast_to: shape [2] has rank 1; x has shape f32[3,2], rank 2; broadcasting never lowers the rank
? 2

== pad
$ viewfold index 'f32[4].pad((1,2),(0,0))'
! <chain>:1:8: error: pad: 2 pairs given; x has shape f32[4]; each axis takes one, 1 in all
? 2
$ viewfold index 'f32[4].pad((1,-2))'
! <chain>:1:8: error: pad: pads [1,-2] of axis 0 are negative; x has shape f32[4]; a pad is >= 0: shrink takes elements away
? 2
$ viewfold index 'f32[0].pad((1,0),mode=edge)'
! <chain>:1:8: error: pad: mode=edge repeats elements of axis 0, which has 0; x has shape f32[0]; the size must be at least 1
? 2

== shrink
$ viewfold index 'f32[4].shrink((1,5))'
! <chain>:1:8: error: shrink: bounds [1,5] do not fit axis 0; x has shape f32[4]; takes 0 <= begin <= end <= 4
? 2
$ viewfold index 'f32[4].shrink((3,2))'
! <chain>:1:8: error: shrink: bounds [3,2] do not fit axis 0; x has shape f32[4]; takes 0 <= begin <= end <= 4
? 2
$ viewfold index 'f32[4].shrink((0,4),(0,4))'
! <chain>:1:8: error: shrink: 2 pairs given; x has shape f32[4]; each axis takes one, 1 in all
? 2
$ viewfold index 'f32[n=2..8].shrink((0,3))'
! <chain>:1:13: error: shrink: bounds [0,3] do not fit axis 0; x has shape f32[n]; takes 0 <= begin <= end <= n; needs n >= 3, known: 2 <= n <= 8; declare n=3..8
? 2

== flip and stride
$ viewfold index 'f32[4].flip(1)'
! <chain>:1:8: error: flip: axis 1 is out of range; x has shape f32[4]; the axis must lie in -1..0
? 2
$ viewfold index 'f32[4].flip(0,0)'
! <chain>:1:8: error: flip: axes [0,0] repeat axis 0; x has shape f32[4]; each axis may be listed at most once
? 2
$ viewfold index 'f32[4].stride(0)'
! <chain>:1:8: error: stride: step 0 of axis 0 is not possible; x has shape f32[4]; a step is a constant integer other than 0
? 2
$ viewfold index 'f32[4].stride(2,1)'
! <chain>:1:8: error: stride: 2 steps given; x has shape f32[4]; each axis takes one, 1 in all
? 2
$ viewfold index 'f32[n=2..8].stride(n)'
! <chain>:1:13: error: stride: step n of axis 0 is not possible; x has shape f32[n]; a step is a constant integer other than 0
? 2

== squeeze, unsqueeze, point
$ viewfold index 'f32[4].squeeze(0)'
! <chain>:1:8: error: squeeze: axis 0 has size 4; x has shape f32[4]; only an axis of size 1 can be removed
? 2
$ viewfold index 'f32[4].unsqueeze(3)'
! <chain>:1:8: error: unsqueeze: axis 3 is out of range; x has shape f32[4]; the axis must lie in -2..1
? 2
$ viewfold index 'f32[4].point(0,4)'
! <chain>:1:8: error: point: index 4 is outside axis 0; x has shape f32[4]; takes -4 <= index < 4
? 2
$ viewfold index 'f32[4].point(0)'
! <chain>:1:8: error: point: attribute index is missing; it is an index, such as 0
? 2
$ viewfold index 'f32[n=2..8].point(0,n)'
! <chain>:1:13: error: point: index n is outside axis 0; x has shape f32[n]; takes -n <= index < n
? 2

== gather
$ viewfold index 'f32[4].gather(0,[4])'
! <chain>:1:8: error: gather: index 4 is out of range of axis 0; x has shape f32[4]; an index lies in -size .. size-1
? 2
$ viewfold index 'f32[4].gather(1,[0])'
! <chain>:1:8: error: gather: axis 1 is out of range; x has shape f32[4]; the axis must lie in -1..0
? 2
$ viewfold index 'f32[4].gather(0)'
! <chain>:1:8: error: gather: takes an axis and a list of indices, as in gather(0,[2,0,2])
? 2
$ viewfold index 'f32[4].gather(0,2)'
! <chain>:1:8: error: gather: takes an axis and a list of indices, as in gather(0,[2,0,2])
? 2
$ viewfold index 'f32[4].gather(0,[[0],[1,2]])'
! <chain>:1:8: error: data: values are ragged: a list of 1 was expected at depth 1, and [1] is one of 2; lists of one depth must have one length
? 2
$ viewfold index 'f32[n=3..8].gather(0,[3])'
! <chain>:1:13: error: gather: index 3 is out of range of axis 0; x has shape f32[n]; an index into a size that varies is >= 0 and less than the least size
? 2
$ viewfold index 'f32[n=3..8].gather(0,[-1])'
! <chain>:1:13: error: gather: index -1 is out of range of axis 0; x has shape f32[n]; an index into a size that varies is >= 0 and less than the least size
? 2

== an expression too long to print
$ viewfold index --raw "f32[7,11,13]$(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf '.permute(1,2,0).reshape(7,11,13)'; done)" | tail -c 100
! viewfold index: the expression is longer than 1048576 bytes, written out

== usage
$ viewfold index
! viewfold index: no chain given; for example: viewfold index 'f32[3,2].permute(1,0)'
! Try 'viewfold index --help'.
? 2
$ viewfold index --rwa 'f32[2]'
! viewfold index: unknown option '--rwa'; did you mean --raw?
! Try 'viewfold index --help'.
? 2
$ viewfold index --raw=1 'f32[2]'
! viewfold index: option --raw takes no value, found '1'
! Try 'viewfold index --help'.
? 2
$ viewfold index 'f32[2]' 'f32[3]'
! viewfold index: one chain at a time, found 'f32[3]' as well; quote the chain for the shell
! Try 'viewfold index --help'.
? 2
$ viewfold index --views --json
! viewfold index: --views goes with neither --raw nor --json
! Try 'viewfold index --help'.
? 2
$ viewfold index --json 'f32[2]'
! viewfold index: --json reads chains from standard input, found 'f32[2]'
! Try 'viewfold index --help'.
? 2
$ viewfold index -- --raw
! <chain>:1:1: error: unknown dtype, found '-', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2

