/* Recording: the exact messages with which each operation refuses operands. */
#include "test/lib/record.h"
#include "test/lib/unit.h"

static void test_weak_constants_refusals(void **state) {
  static const record_refused cases[] = {
      {"add u8[2] 256",
       "add: the value 256 does not fit u8, which holds the integers 0..255; use a value in that range or "
       "cast the other operand"},
      {"add u8[2] -1",
       "add: the value -1 does not fit u8, which holds the integers 0..255; use a value in that range or "
       "cast the other operand"},
      {"mul f16[2] 1e9",
       "mul: the value 1000000000.0 does not fit f16, which holds -65504..65504; use a value "
       "in that range or cast the other operand"},
      {"add bf16[2] 3.4e38",
       "add: the value 3.4e+38 does not fit bf16, which holds -3.39e38..3.39e38; use a value "
       "in that range or cast the other operand"},
      {"sub i8[2] 128",
       "sub: the value 128 does not fit i8, which holds the integers -128..127; use a value in that range "
       "or cast the other operand"},
      {"lt u64[2] -5",
       "lt: the value -5 does not fit u64, which holds the integers 0..18446744073709551615; use a value in "
       "that range or cast the other operand"},
      {"mul i32[] 2147483648",
       "mul: the value 2147483648 does not fit i32, which holds the integers "
       "-2147483648..2147483647; use a value in that range or cast the other operand"},
      {"add f16[2] 100000",
       "add: the value 100000 does not fit f16, which holds -65504..65504; use a value in that range "
       "or cast the other operand"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_elementwise_refusals(void **state) {
  static const record_refused cases[] = {
      {"neg bool[2]",
       "neg: there is no arithmetic on bool; x has shape bool[2]; cast to an integer or float dtype, or use "
       "and, or, not"},
      {"abs bool[2]",
       "abs: there is no arithmetic on bool; x has shape bool[2]; cast to an integer or float dtype, or use "
       "and, or, not"},
      {"ceil bool[2]",
       "ceil: there is no arithmetic on bool; x has shape bool[2]; cast to an integer or float dtype"},
      {"not f32[2]", "not: floats have no bitwise operations; x has shape f32[2]; takes bool or integers: "
                     "cast, or bitcast"},
      {"add bool[2] bool[2]",
       "add: there is no arithmetic on bool; the operands promote to bool; cast to an integer or "
       "float dtype, or use and, or, not"},
      {"and i8[2] f32[2]",
       "and: floats have no bitwise operations; the operands promote to f32; takes bool or integers: "
       "cast, or bitcast"},
      {"shl bool[2] bool[2]",
       "shl: it moves the bits of integers; the operands promote to bool; cast to an integer dtype"},
      {"shr f32[2] 1",
       "shr: it moves the bits of integers; the operands promote to f32; cast to an integer dtype"},
      {"fma i32[2] 1 2",
       "fma: it rounds once, so it takes floats; the operands promote to i32; cast to a float dtype"},
      {"add u64[3] i32[2,3]",
       "add: u64 and i32 have no common dtype: no integer holds both; operands 1 and 2 are u64[3] and "
       "i32[2,3]; cast one of them"},
      {"lt i8[] u64[]",
       "lt: i8 and u64 have no common dtype: no integer holds both; operands 1 and 2 are i8[] and u64[]; "
       "cast one of them"},
      {"shl i8[2] -1",
       "shl: the count -1 is negative; x has shape i8[2]; a count is >= 0: shift the other way by shr "
       "instead"},
      {"pow i32[2] -1",
       "pow: i32 to the power -1 is no integer; an exponent of integers is >= 0: cast the base to a float "
       "dtype"},
      {"add f32[2,3] f32[2,4]",
       "add: shapes f32[2,3] and f32[2,4] do not broadcast: size 3 meets 4 at axis -1; "
       "sizes must be equal or 1"},
      {"where bool[1] f32[2,3] f32[2]",
       "where: shapes f32[2,3] and f32[2] do not broadcast: size 3 meets 2 at axis -1; "
       "sizes must be equal or 1"},
      {"add f32[n] f32[4]",
       "add: shapes f32[n] and f32[4] do not broadcast: size n meets 4 at axis -1; sizes "
       "must be equal or 1; needs n == 4, known: 1 <= n <= 8; declare n=4..4"},
      {"add f32[n] f32[m]",
       "add: shapes f32[n] and f32[m] do not broadcast: size n meets m at axis -1; sizes "
       "must be equal or 1; needs n == m, known: 1 <= n <= 8, 4 <= m <= 64 in steps of 4; use one variable "
       "for both"},
      {"add f32[n] f32[9]",
       "add: shapes f32[n] and f32[9] do not broadcast: size n meets 9 at axis -1; sizes "
       "must be equal or 1"},
      {"where f32[2] f32[2] f32[2]",
       "where: the condition has shape f32[2]; a condition must be bool: compare it, or cast it to "
       "bool"},
      {"where 1 f32[2] f32[2]",
       "where: the condition has shape i32[]; a condition must be bool: compare it, or cast it to bool"},
      {"cast f32[2] dtype=index",
       "cast: attribute dtype is index; it is one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 "
       "f32 f64"},
      {"bitcast f32[2] dtype=f16",
       "bitcast: f16 has 2 bytes an element; x has shape f32[2], 4 bytes; use a dtype of the same "
       "size"},
      {"bitcast u8[2] dtype=bool",
       "bitcast: not every bit pattern is a bool; x has shape u8[2]; use an integer or float "
       "dtype of 1 byte"},
      {"add f32[2] (n+1)",
       "add: operand 2 is the index expression (n+1), not a tensor; its value as one is the sum of ones: "
       "%o = ones shape=[(n+1)] dtype=i64; %s = sum %o"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_view_refusals(void **state) {
  static const record_refused cases[] = {
      {"permute f32[2,3] order=[0,0]",
       "permute: order [0,0] repeats axis 0; x has shape f32[2,3]; an order lists each of the "
       "axes 0..1 exactly once"},
      {"permute f32[2,3] order=[0,-2]",
       "permute: order [0,-2] repeats axis 0; x has shape f32[2,3]; an order lists each of "
       "the axes 0..1 exactly once"},
      {"permute f32[2,3] order=[0,2]",
       "permute: order [0,2] has 2, which is no axis; x has shape f32[2,3]; an order lists "
       "each of the axes 0..1 exactly once"},
      {"permute f32[2,3] order=[0,n]",
       "permute: order [0,n] has n, which is no axis; x has shape f32[2,3]; an order lists "
       "each of the axes 0..1 exactly once"},
      {"permute f32[2,3] order=[0]",
       "permute: order [0] has 1 entry; x has shape f32[2,3]; an order lists each of its 2 axes "
       "exactly once"},
      {"transpose f32[2,3] axis2=1",
       "transpose: attribute axis1 is missing; takes axis1 and axis2, or neither, which reverses all axes"},
      {"transpose f32[2,3] axis1=0 axis2=2",
       "transpose: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in "
       "-2..1"},
      {"moveaxis f32[2,3] source=-3 destination=0",
       "moveaxis: axis -3 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"reshape f32[2,3] shape=[4,2]",
       "reshape: shape [4,2] has 8 elements; x has shape f32[2,3], 6 elements; a reshape "
       "keeps their number"},
      {"reshape f32[2,3] shape=[-1,-1]",
       "reshape: shape [-1,-1] has more than one -1; x has shape f32[2,3]; at most one size "
       "can be inferred"},
      {"reshape f32[2,3] shape=[-1,4]",
       "reshape: the -1 of shape [-1,4] cannot be inferred: 6 elements of x do not divide by "
       "4; x has shape f32[2,3]; the other sizes must divide the number of elements"},
      {"reshape f32[0,3] shape=[-1,0]",
       "reshape: the -1 of shape [-1,0] cannot be inferred, as the other sizes multiply to "
       "0; x has shape f32[0,3]; give the size"},
      {"reshape f32[2,3] shape=[-2,3]",
       "reshape: size -2 of axis 0 in shape [-2,3] is negative; every size must be >= 0"},
      {"reshape f32[n,4] shape=[16]",
       "reshape: shape [16] has 16 elements; x has shape f32[n,4], (n*4) elements; a reshape "
       "keeps their number; needs 16 == (n*4), known: 4 <= (n*4) <= 32 in steps of 4; declare n=4..4"},
      {"reshape f32[n,4] shape=[3,-1]",
       "reshape: the -1 of shape [3,-1] cannot be inferred: (n*4) elements of x do not "
       "provably divide by 3; x has shape f32[n,4]; the other sizes must divide the number "
       "of elements; needs ((n*4)%3) == 0, known: 4 <= (n*4) <= 32 in steps of 4; declare n=1..8:3"},
      {"reshape f32[z,3] shape=[-1,z]",
       "reshape: the -1 of shape [-1,z] cannot be inferred, as the other sizes multiply to "
       "z; x has shape f32[z,3]; give the size; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"reshape f32[1] shape=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
       "reshape: the result has rank 17; a tensor has at most 16 axes"},
      {"flatten f32[2,3,4] start_dim=2 end_dim=1",
       "flatten: the first axis, 2, is behind the last, 1; x has shape f32[2,3,4]; exchange them"},
      {"flatten f32[2,3] end_dim=2",
       "flatten: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"expand f32[2,3] shape=[2,6]", "expand: shape [2,6] asks for 6 at axis 1; x has shape f32[2,3], 3 "
                                      "there; only sizes of 1 can be expanded, others must be equal"},
      {"broadcast_to f32[2,3] shape=[3]", "broadcast_to: shape [3] has rank 1; x has shape f32[2,3], rank 2; "
                                          "broadcasting never lowers the rank"},
      {"expand f32[n] shape=[8]",
       "expand: shape [8] asks for 8 at axis 0; x has shape f32[n], n there; only sizes of 1 can be "
       "expanded, others must be equal; needs n == 8, known: 1 <= n <= 8; declare n=8..8"},
      {"expand f32[1,1] shape=[4294967296,4294967296]",
       "expand: a result of shape f32[4294967296,4294967296] is too large; "
       "its bytes must number less than 2^63"},
      {"expand f32[1] shape=[-1]",
       "expand: size -1 of axis 0 in shape [-1] is negative; every size must be >= 0"},
      {"expand f32[1] shape=[n-4]",
       "expand: size (n+-4) of axis 0 in shape [(n+-4)] is not known not to be negative; every size must be "
       ">= 0; needs (n+-4) >= 0, known: -3 <= (n+-4) <= 4; declare n=4..8"},
      {"unsqueeze f32[2,3] axis=3",
       "unsqueeze: axis 3 is out of range; x has shape f32[2,3]; the axis must lie in -3..2"},
      {"unsqueeze f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
       "unsqueeze: the result has rank 17; a tensor has at most 16 axes"},
      {"squeeze f32[10,5] axis=0",
       "squeeze: axis 0 has size 10; x has shape f32[10,5]; only an axis of size 1 can be removed"},
      {"squeeze f32[] axis=0", "squeeze: axis 0 is out of range; x has shape f32[], which has no axes"},
      {"squeeze f32[1] axis=[0,-1]",
       "squeeze: axes [0,-1] repeat axis 0; x has shape f32[1]; each axis may be listed at most once"},
      {"squeeze f32[n]", "squeeze: axis 0 has size n; x has shape f32[n]; only an axis of size 1 can be "
                         "removed; needs n == 1, known: 1 <= n <= 8; declare n=1..1"},
      {"shrink f32[6] bounds=[[2,7]]",
       "shrink: bounds [2,7] do not fit axis 0; x has shape f32[6]; takes 0 <= begin <= end "
       "<= 6"},
      {"shrink f32[6] bounds=[[3,2]]",
       "shrink: bounds [3,2] do not fit axis 0; x has shape f32[6]; takes 0 <= begin <= end "
       "<= 6"},
      {"shrink f32[6] bounds=[[-1,2]]",
       "shrink: bounds [-1,2] do not fit axis 0; x has shape f32[6]; takes 0 <= begin <= end "
       "<= 6"},
      {"shrink f32[n] bounds=[[0,3]]",
       "shrink: bounds [0,3] do not fit axis 0; x has shape f32[n]; takes 0 <= begin <= end "
       "<= n; needs n >= 3, known: 1 <= n <= 8; declare n=3..8"},
      {"shrink f32[6,6] bounds=[[0,3]]",
       "shrink: 1 pair given; x has shape f32[6,6]; each axis takes one, 2 in all"},
      {"slice f32[3] start=[-4] size=[1]",
       "slice: start -4 and size 1 do not fit axis 0; x has shape f32[3]; takes 0 <= start, which counts "
       "from the end where it is negative, 0 <= size and start + size <= 3"},
      {"slice f32[3] start=[0]", "slice: takes either bounds, or start and size"},
      {"slice f32[3] start=[0] size=[1,1]",
       "slice: start and size have lengths 1 and 2; each axis takes one of both"},
      {"stride f32[8] steps=[0]",
       "stride: step 0 of axis 0 is not possible; x has shape f32[8]; a step is a constant integer "
       "other than 0"},
      {"stride f32[8] steps=[n]",
       "stride: step n of axis 0 is not possible; x has shape f32[8]; a step is a constant integer "
       "other than 0"},
      {"stride f32[8,8] steps=[1]",
       "stride: 1 step given; x has shape f32[8,8]; each axis takes one, 2 in all"},
      {"flip f32[2,3] axes=[2]",
       "flip: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"flip f32[2,3] axes=[1,-1]",
       "flip: axes [1,-1] repeat axis 1; x has shape f32[2,3]; each axis may be listed at most once"},
      {"flip f32[2,3] axes=[n]",
       "flip: axis n is not a constant; x has shape f32[2,3]; an axis is an integer"},
      {"flip f32[2,3]", "flip: attribute axes is missing; it is a list of axes, such as [0,1]"},
      {"point f32[2,3] index=3 axis=1",
       "point: index 3 is outside axis 1; x has shape f32[2,3]; takes -3 <= index < 3"},
      {"point f32[2,3] index=-3 axis=0",
       "point: index -3 is outside axis 0; x has shape f32[2,3]; takes -2 <= index < 2"},
      {"point f32[n] index=2",
       "point: index 2 is outside axis 0; x has shape f32[n]; takes -n <= index < n; needs n > 2, "
       "known: 1 <= n <= 8; declare n=3..8"},
      {"pad f32[3] pads=[[-1,0]]",
       "pad: pads [-1,0] of axis 0 are negative; x has shape f32[3]; a pad is >= 0: shrink takes "
       "elements away"},
      {"pad f32[3] pads=[[0,n-2]]",
       "pad: pads [0,(n+-2)] of axis 0 are not known not to be negative; x has shape f32[3]; a "
       "pad is >= 0: shrink takes elements away; needs (n+-2) >= 0, known: -1 <= (n+-2) <= 6; declare "
       "n=2..8"},
      {"pad f32[3,3] pads=[[1,0]]", "pad: 1 pair given; x has shape f32[3,3]; each axis takes one, 2 in all"},
      {"pad f32[3] pads=[[9223372036854775807,0]]",
       "pad: pads [9223372036854775807,0] of axis 0 are too large; x has shape "
       "f32[3]; sizes are less than 2^63"},
      {"pad f32[0] pads=[[0,1]] mode=reflect",
       "pad: mode=reflect repeats elements of axis 0, which has 0; x has shape f32[0]; the "
       "size must be at least 1"},
      {"pad f32[0] pads=[[0,1]] mode=edge",
       "pad: mode=edge repeats elements of axis 0, which has 0; x has shape f32[0]; the "
       "size must be at least 1"},
      {"pad f32[z] pads=[[0,1]] mode=wrap",
       "pad: mode=wrap repeats elements of axis 0, which has z; x has shape f32[z]; the "
       "size must be at least 1; needs z > 0, known: 0 <= z <= 5; declare z=1..5"},
      {"pad f32[3] pads=[[0,1]] mode=edge value=1",
       "pad: mode=edge fills with elements of x, so a value has no use; leave it "
       "out, or use mode=constant"},
      {"pad f32[3] pads=[[0,1]] mode=mirror",
       "pad: attribute mode is mirror; it is one of constant edge reflect wrap"},
      {"pad i8[3] pads=[[0,1]] value=200",
       "pad: the value 200 does not fit i8, which holds the integers -128..127; use a "
       "value in that range or cast x"},
      {"pad i8[3] pads=[[0,1]] value=0.5",
       "pad: the value 0.5 does not fit i8, which holds the integers -128..127; use a "
       "value in that range or cast x"},
      {"pad i64[3] pads=[[0,1]] value=1e19",
       "pad: the value 1e+19 does not fit i64, which holds the integers "
       "-9223372036854775808..9223372036854775807; use a value in that range or cast "
       "x"},
      {"concat f32[2,2] f32[2]",
       "concat: operand 2 has shape f32[2], the first f32[2,2]; all operands must have the same rank"},
      {"concat f32[2,2] f32[2,3] axis=0",
       "concat: operand 2 has shape f32[2,3], the first f32[2,2]: size 2 meets 3 at axis "
       "1; sizes of the other axes must be equal"},
      {"concat f32[] f32[]",
       "concat: the first operand has shape f32[], which has no axis to join along; use stack"},
      {"concat f32[2] f32[2] axis=1",
       "concat: axis 1 is out of range; x has shape f32[2]; the axis must lie in -1..0"},
      {"concatenate axis=0", "concatenate: 0 operands given; takes at least 1: arrays"},
      {"stack f32[2] f32[3]",
       "stack: operand 2 has shape f32[3], the first f32[2]: size 2 meets 3 at axis 0; sizes must be "
       "equal"},
      {"stack f32[2] f32[2] axis=2",
       "stack: axis 2 is out of range; x has shape f32[2]; the axis must lie in -2..1"},
      {"stack u64[2] i8[2]",
       "stack: u64 and i8 have no common dtype: no integer holds both; operands 1 and 2 are u64[2] and "
       "i8[2]; cast one of them"},
  };
  CHECK_ALL(check_refused, cases);
}

/* --------------------------------------------------------------------------- reductions, contractions,
 * gather */

static void test_reduction_refusals(void **state) {
  static const record_refused cases[] = {
      {"sum f32[2,3] axes=[2]",
       "sum: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"reduce_sum f32[2,3] axes=[0,-2]",
       "reduce_sum: axes [0,-2] repeat axis 0; x has shape f32[2,3]; each axis may be listed at most once"},
      {"max f32[0,3] axes=[0]", "max: axis 0 has size 0; x has shape f32[0,3]; the minimum or maximum of no "
                                "elements is undefined: each reduced size must be at least 1"},
      {"min f32[z]",
       "min: axis 0 has size z; x has shape f32[z]; the minimum or maximum of no elements is undefined: each "
       "reduced size must be at least 1; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"argmax f32[2,0] axis=1", "argmax: axis 1 has size 0; x has shape f32[2,0]; the minimum or maximum of "
                                 "no elements is undefined: each reduced size must be at least 1"},
      {"argmin f32[z,2]",
       "argmin: axis 0 has size z; x has shape f32[z,2]; the minimum or maximum of no elements is undefined: "
       "each reduced size must be at least 1; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"argmax f32[2] axis=1",
       "argmax: axis 1 is out of range; x has shape f32[2]; the axis must lie in -1..0"},
      {"max f32[2] f32[2] axes=[0]",
       "max: of two operands it is elementwise and has no axes; give one operand to reduce"},
      {"max f32[2] f32[2] f32[2]",
       "max: 3 operands given; takes 1 or 2: x, perhaps y; attributes: axis, axes, keepdims"},
      {"sum f32[2] axis=0 axes=[0]", "sum: both axis and axes are given; give one of them"},
      {"sum f32[2] keepdims=1", "sum: attribute keepdims is 1; it is true or false"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_contractions_refusals(void **state) {
  static const record_refused cases[] = {
      {"matmul f32[2,3] f32[4,5]",
       "matmul: the last axis of f32[2,3] has size 3, the last but one axis of f32[4,5] has 4; the "
       "contracted sizes must be equal"},
      {"matmul f32[2,3] f32[4]", "matmul: the last axis of f32[2,3] has size 3, the only axis of f32[4] has "
                                 "4; the contracted sizes must be equal"},
      {"matmul f32[2,n] f32[8,2]",
       "matmul: the last axis of f32[2,n] has size n, the last but one axis of f32[8,2] has 8; the "
       "contracted sizes must be equal; needs n == 8, known: 1 <= n <= 8; declare n=8..8"},
      {"matmul f32[] f32[2,2]",
       "matmul: operand 1 has shape f32[]; the other has f32[2,2]; a factor has at least one axis: "
       "use mul for scalars"},
      {"matmul f32[2,2,3] f32[3,3,4]",
       "matmul: batch sizes 2 and 3 do not broadcast; operands have shapes f32[2,2,3] and "
       "f32[3,3,4]; axes before the last two must be equal or 1"},
      {"gather f32[3] f32[2]", "gather: the indices have shape f32[2]; x has shape f32[3]; indices must be "
                               "integers: cast them, dtype=i32"},
      {"gather f32[3] bool[2]", "gather: the indices have shape bool[2]; x has shape f32[3]; indices must be "
                                "integers: cast them, dtype=i32"},
      {"take f32[3] i64[2] axis=1",
       "take: axis 1 is out of range; x has shape f32[3]; the axis must lie in -1..0"},
      {"gather f32[] i64[2]", "gather: axis 0 is out of range; x has shape f32[], which has no axes"},
      {"gather f32[1,1,1,1,1,1,1,1,1] i64[1,1,1,1,1,1,1,1,1]",
       "gather: the result has rank 17; a tensor has at most 16 "
       "axes"},
      {"gather f32[2,0] i64[2] axis=1 mode=clip",
       "gather: axis 1 has size 0; x has shape f32[2,0], the indices i64[2]; every index is out of range: "
       "use mode=fill"},
      {"gather f32[2,3] i64[2] batch=1",
       "gather: 1 axes of x and the indices cannot be shared; they have shapes f32[2,3] and i64[2]; shared "
       "axes must be the first of both and come before axis 0"},
      {"gather f32[2,3] i64[n] axis=1 batch=1",
       "gather: axis 0 is shared, but has size 2 in x and n in the indices, of shapes f32[2,3] and i64[n]; "
       "equal sizes "
       "are shared; needs 2 == n, known: 1 <= n <= 8; declare n=2..2"},
      {"scatter f32[3] f32[2] 0", "scatter: the indices have shape f32[2]; x has shape f32[3]; indices must "
                                  "be integers: cast them, dtype=i32"},
      {"scatter i32[3] i64[2] f32[2]", "scatter: the update has shape f32[2]; x has shape i32[3], and keeps "
                                       "its dtype; cast the update to i32"},
      {"scatter_add f32[3,2] i64[2] f32[3,2]", "scatter_add: the update has shape f32[3,2]; x has shape "
                                               "f32[3,2], of which [2,2] is replaced; an update "
                                               "broadcasts to that"},
      {"scatter_add bool[3] i64[2] bool[2]",
       "scatter_add: x has shape bool[3]; truth values do not add up; cast x to an integer"},
      {"gather f32[3] i64[2] mode=skip", "gather: attribute mode is skip; it is one of check clip fill"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_leaves_refusals(void **state) {
  static const record_refused cases[] = {
      {"const dtype=f32", "const: attribute value is missing; it is a number, true or false"},
      {"const value=300 dtype=u8",
       "const: the value 300 does not fit u8, which holds the integers 0..255; use a value in that "
       "range or another dtype"},
      {"const value=word", "const: attribute value is word; it is a number, true or false"},
      {"const value=1 dtype=f31",
       "const: attribute dtype is f31; it is one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 "
       "f32 f64"},
      {"full shape=[-1] value=0",
       "full: size -1 of axis 0 in shape [-1] is negative; every size must be >= 0"},
      {"iota shape=[2] axis=1", "iota: axis 1 is out of range; shape [2] has 1 axis"},
      {"iota shape=[2] dtype=bool", "iota: dtype bool cannot count; use an integer or a float dtype"},
      {"data values=3", "data: attribute values is 3; it is a list of numbers, nested or flat"},
      {"data values=[1,[2]]", "data: values are ragged: a list stands where a number was expected; lists of "
                              "one depth must have one length"},
      {"data values=[[1,2],[3]]", "data: values are ragged: a list of 2 was expected at depth 1, and [1] is "
                                  "one of 1; lists of one depth must have one "
                                  "length"},
      {"data values=[[1],2]", "data: values are ragged: a list of 1 was expected at depth 1, and [1] is no "
                              "list; lists of one depth must have one "
                              "length"},
      {"data values=[1,2,3] shape=[2,2]", "data: shape i32[2,2] takes 4 elements; values has 3"},
      {"data values=[1] shape=[n]",
       "data: size n of axis 0 in shape [n] is not constant; literal elements have a constant "
       "shape"},
      {"data values=[1,-1] dtype=u8",
       "data: the value -1 does not fit u8, which holds the integers 0..255; use a value in "
       "that range or another dtype"},
      {"data values=[1,word]", "data: attribute values holds word; it is a list of numbers, nested or flat"},
      {"add f32[-2] 1", "input: size -2 of axis 0 in shape [-2] is negative; every size must be >= 0"},
      {"add f64[4294967296,268435456] 1",
       "input: a result of shape f64[4294967296,268435456] is too large; its bytes must "
       "number less than 2^63"},
      {"add f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] 1",
       "input: the result has rank 17; a tensor has at most 16 axes"},
  };
  CHECK_ALL(check_refused, cases);
}

static void test_names_and_attributes(void **state) {
  static const record_refused cases[] = {
      {"permut f32[2]", "permut: there is no such operation; nearest: permute"},
      {"sigmiod f32[2]", "sigmiod: there is no such operation; nearest: sigmoid"},
      {"frobnicate f32[2]",
       "frobnicate: there is no such operation; docs/operations.md and `viewfold ops` list them"},
      {"permute f32[2] order=[0] axis=1",
       "permute: there is no attribute axis; attributes: order; axis is called order here"},
      {"add f32[2] 1 alpha=2", "add: there is no attribute alpha; attributes: none"},
      {"pad f32[2] pads=[[0,0]] pads=[[0,0]]", "pad: attribute pads is given twice; give it once"},
      {"reshape f32[2]", "reshape: attribute shape is missing; it is a list of sizes, such as [3,2]"},
      {"permute f32[2] order=1.5", "permute: attribute order is 1.5; it is a list of axes, such as [1,0], or "
                                   "their letters, such as \"cb\""},
      {"permute f32[2] order=[0.5]", "permute: attribute order holds 0.5; it is a list of axes, such as "
                                     "[1,0], or their letters, such as \"cb\""},
      {"shrink f32[2] bounds=[0,1]",
       "shrink: attribute bounds holds 0; it is a list of pairs [begin,end], such as "
       "[[0,2],[1,3]]"},
      {"pad f32[2] pads=[[0,1,2]]",
       "pad: attribute pads holds a list of 3; it is a list of pairs [before,after], such as "
       "[[1,1],[0,2]]"},
      {"unsqueeze f32[2] axis=[0]",
       "unsqueeze: attribute axis is a list of 1; it is an axis, such as 0, or its letter, such as \"c\""},
      {"unbatch f32[3] size=w axis=0 level=1",
       "unbatch: attribute size is w; it is a size, or a list of sizes such as [3,2]"},
      {"unsqueeze f32[2] axis=n",
       "unsqueeze: attribute axis is n; it is an axis, such as 0, or its letter, such as \"c\""},
      {"add f32[2]", "add: 1 operand given; takes 2: x, y"},
      {"neg f32[2] f32[2]", "neg: 2 operands given; takes 1: x"},
  };
  CHECK_ALL(check_refused, cases);
}

/* Builders that no text and no function of the C API calls so. */
static void test_builders_refusals(void **state) {
  (void)state;
  recorder *r = record_begin();
  ir_ref x = record_line(r, "neg f32[2]");
  assert_int_equal(op_cumulative(&r->g, IR_OP_CUMMAX, x, 0, true, false), 0);
  assert_string_equal(
      r->error.text, "cummax: exclusive is set; x has shape f32[2]; the minimum or maximum of no elements is "
                     "undefined: leave it out");
  ir_error_clear(&r->error);
  assert_int_equal(op_buffer(&r->g, IR_INDEX, NULL, 0), 0);
  assert_string_equal(r->error.text, "buffer: no dtype of a tensor; use bool, an integer or a float dtype");
  ir_error_clear(&r->error);
  assert_int_equal(op_concat(&r->g, &x, 0, 0), 0);
  assert_string_equal(r->error.text, "concat: no tensors given; takes at least one");
}

UNIT_TESTS(test_builders_refusals, test_weak_constants_refusals, test_elementwise_refusals,
           test_view_refusals, test_reduction_refusals, test_contractions_refusals, test_leaves_refusals,
           test_names_and_attributes)
