/* Recording compositions: the types of their results, and the exact messages when they are refused. */
#include "passes/ops/compose/compose.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

typedef struct typed {
  const char *line;
  const char *types; /* of each result, in order */
} typed;

static void check_typed(const typed *c) {
  recorder *r = record_begin();
  ir_ref x = record_line(r, c->line);
  if (!x) fail_msg("%s: refused: %s", c->line, r->error.text);
  ir_text text;
  ir_text_init(&text, &r->mem);
  bool several = ir_op_of(&r->g, x) == IR_OP_TUPLE;
  for (uint32_t i = 0; i < (several ? ir_get(&r->g, x)->nsrc : 1); i++) {
    if (i) ir_text_str(&text, " ");
    ir_print_type(&r->g, several ? ir_src(&r->g, x, i) : x, &text);
  }
  if (strcmp(c->types, ir_text_get(&text)) != 0)
    fail_msg("%s:\n  expected %s\n  found    %s", c->line, c->types, ir_text_get(&text));
  ir_text_free(&text);
}

static void test_softmax(void **state) {
  static const typed good[] = {
      {"softmax f32[2,3]", "f32[2,3]"},
      {"softmax f16[2,3] axis=0", "f16[2,3]"},
      {"log_softmax bf16[n,m] axis=-2", "bf16[n,m]"},
      {"log_softmax bool[2]", "f32[2]"},
      {"softmax i64[2,0,3] axis=0", "f64[2,0,3]"},
      {"logsumexp u8[2,3]", "f32[]"},
      {"logsumexp f64[2,n] axes=[1]", "f64[2]"},
      {"logsumexp f16[2,n] axis=0 keepdims=true", "f16[1,n]"},
      {"logsumexp f32[2,3] axes=[]", "f32[2,3]"},
      {"logsumexp 3", "f32[]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"softmax f32[2,3] axis=2",
       "softmax: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"softmax f32[]", "softmax: axis -1 is out of range; x has shape f32[], which has no axes"},
      {"log_softmax f32[2,0]", "log_softmax: axis 1 has size 0; x has shape f32[2,0]; the minimum or maximum "
                               "of no elements is undefined: each reduced size must be at least 1"},
      {"softmax f32[z]",
       "softmax: axis 0 has size z; x has shape f32[z]; the minimum or maximum of no elements is undefined: "
       "each reduced size must be at least 1; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"logsumexp f32[2,3] axes=[0,-2]",
       "logsumexp: axes [0,-2] repeat axis 0; x has shape f32[2,3]; each axis may be listed at most once"},
      {"softmax (n)",
       "softmax: operand 1 is the index expression n, not a tensor; its value as one is the sum of ones: "
       "%o = ones shape=[n] dtype=i64; %s = sum %o"},
      {"softmax f32[2] eps=1", "softmax: there is no attribute eps; attributes: axis"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_random(void **state) {
  static const typed good[] = {
      {"uniform shape=[2,3] seed=7", "f32[2,3]"},
      {"uniform shape=[] seed=-1 low=-3 high=0 dtype=f16", "f16[]"},
      {"uniform i64[] shape=[n,0] dtype=bf16", "bf16[n,0]"},
      {"normal 5 shape=[n,m] mean=1e3 std=0 dtype=f64", "f64[n,m]"},
      {"gaussian u8[] shape=4", "f32[4]"},
      {"bernoulli shape=[2,m] seed=18446744073709551615 p=1", "bool[2,m]"},
      {"threefry2x32 u32[2,1] u32[] 1 u32[3]", "u32[2,3] u32[2,3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"uniform shape=[2]", "uniform: there is no seed; give seed=7, say, or an integer scalar as operand"},
      {"uniform i32[] shape=[2] seed=1",
       "uniform: the seed is given as an operand and as an attribute; give one of them"},
      {"normal shape=[2] seed=1.5", "normal: attribute seed is 1.5; it is a number of 64 bits, such as 7"},
      {"normal f32[] shape=[2]",
       "normal: the seed has shape f32[]; a seed must be a scalar of an integer dtype"},
      {"bernoulli u32[2] shape=[2]",
       "bernoulli: the seed has shape u32[2]; a seed must be a scalar of an integer dtype"},
      {"uniform shape=[2] seed=1 dtype=i32", "uniform: draws are floats, not i32; use f16, bf16, f32 or f64"},
      {"uniform shape=[-2] seed=1",
       "uniform: size -2 of axis 0 in shape [-2] is negative; every size must be >= 0"},
      {"uniform shape=[2] seed=1 low=2 high=2",
       "uniform: cannot draw numbers from 2 to below 2 in f32; takes "
       "finite numbers low < high, at a finite distance"},
      {"uniform shape=[2] seed=1 low=2 high=2.0001 dtype=f16",
       "uniform: cannot draw numbers from 2 to below 2 in f16; takes finite numbers low < high, at a finite "
       "distance"},
      {"uniform shape=[2] seed=1 low=-3e38 high=3e38", "uniform: cannot draw numbers from -3e+38 to below "
                                                       "3e+38 in f32; takes finite numbers low < high, at a "
                                                       "finite distance"},
      {"normal shape=[2] seed=1 std=-1", "normal: there is no distribution of mean 0 and standard deviation "
                                         "-1; takes finite numbers, std >= 0"},
      {"bernoulli shape=[2] seed=1 p=1.5", "bernoulli: p is 1.5; a probability lies in 0..1"},
      {"threefry2x32 u32[2] u32[2] u32[3] u32[2]", "threefry2x32: shapes u32[2] and u32[3] do not broadcast: "
                                                   "size 2 meets 3 at axis -1; sizes must be equal or "
                                                   "1"},
      {"threefry2x32 i32[2] u32[2] u32[3] u32[2]",
       "threefry2x32: operand 1 has shape i32[2]; keys and counters must be u32: cast it"},
      {"threefry2x32 -1 u32[2] u32[2] u32[2]", "threefry2x32: the value -1 does not fit u32, which holds the "
                                               "integers 0..4294967295; use a value in that "
                                               "range or cast the other operand"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_attention(void **state) {
  static const typed good[] = {
      {"attention f32[4,8] f32[5,8] f32[5,3]", "f32[4,3]"},
      {"attention f16[2,1,4,8] f16[3,5,8] f16[5,3] scale=2", "f16[2,3,4,3]"},
      {"attention bf16[n,8] f16[m,8] f32[m,3] bool[n,m] causal=true", "f32[n,3]"},
      {"attention i32[4,n] i32[5,n] u8[5,3] f16[1]", "f32[4,3]"},
      {"attention f64[4,8] f64[5,8] f64[5,0] bool[7,1,5]", "f64[7,4,0]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"attention f32[4,8] f32[5,8]", "attention: 2 operands given; takes 3 or 4: q, k, v, perhaps mask; "
                                      "`viewfold ops attention` shows how"},
      {"attention f32[4,8] f32[8] f32[5,3]",
       "attention: k has shape f32[8]; takes rank 2 or more: positions and features"},
      {"attention f32[4,8] f32[5,7] f32[5,3]",
       "attention: q has shape f32[4,8], k has shape f32[5,7]; their last sizes, 8 and 7, must be equal"},
      {"attention f32[4,8] f32[5,8] f32[4,3]", "attention: k has shape f32[5,8], v has shape f32[4,3]; the "
                                               "keys, 5, and the values, 4, must be as many"},
      {"attention f32[2,4,8] f32[3,5,8] f32[5,3]",
       "attention: q has shape f32[2,4,8], k has shape f32[3,5,8]; the axes before the last two, batch and "
       "heads, "
       "must be equal or 1, and positions and features come last: heads behind positions are put before them "
       "by permute %q order=[0,2,1,3]"},
      {"attention f32[4,8] f32[5,8] f32[5,3] i32[4,5]",
       "attention: the mask has shape i32[4,5]; a mask is bool, true where a key takes part, or a float that "
       "is added "
       "to the score"},
      {"attention f32[1,8] f32[5,8] f32[5,3] bool[4,5]",
       "attention: the mask has shape bool[4,5]; q has shape f32[1,8], k has shape f32[5,8]; the mask's last "
       "sizes "
       "are those of the queries and the keys, 1 and 5, or 1"},
      {"attention f32[4,8] f32[0,8] f32[0,3]",
       "attention: axis 1 has size 0; x has shape f32[4,0]; the minimum or maximum of no elements is "
       "undefined: each reduced size must be at least 1"},
      {"attention f32[4,8] f32[5,8] f32[5,3] scale=inf",
       "attention: scale is inf; takes a finite number, 0 for 1 / sqrt(8)"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_activations(void **state) {
  static const typed good[] = {
      {"silu f16[2,n]", "f16[2,n]"},
      {"swish i64[]", "f64[]"},
      {"gelu bf16[3] approximate=none", "bf16[3]"},
      {"softplus bool[3]", "f32[3]"},
      {"leaky_relu f64[n] alpha=-2", "f64[n]"},
      {"elu u8[2] alpha=0.5", "f32[2]"},
      {"reciprocal u64[2]", "f64[2]"},
      {"square i8[n]", "i8[n]"},
      {"sign u16[2]", "u16[2]"},
      {"sign bf16[n]", "bf16[n]"},
      {"clip i8[2] low=-5", "i8[2]"},
      {"clip i8[2] high=1.5", "f32[2]"},
      {"clip f16[2] low=-1 high=3", "f16[2]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"gelu f32[2] approximate=erf", "gelu: attribute approximate is erf; it is one of none tanh"},
      {"elu f32[2] alpha=nan", "elu: alpha is nan; x has shape f32[2]; takes a finite number"},
      {"sign bool[2]", "sign: a bool has none; x has shape bool[2]; cast to an integer or float dtype"},
      {"square bool[2]", "square: there is no arithmetic on bool; the operands promote to bool; cast to an "
                         "integer or float dtype, or "
                         "use and, or, not"},
      {"clip u8[2] low=-1", "clip: the value -1 does not fit u8, which holds the integers 0..255; use a "
                            "value in that range or cast the "
                            "other operand"},
      {"clip f32[2] low=true", "clip: attribute low is true; it is a number, such as -1"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_moments(void **state) {
  static const typed good[] = {
      {"var f32[2,3]", "f32[]"},
      {"std i32[2,3] axes=[0] correction=1", "f32[3]"},
      {"var f16[n,3] axis=0 keepdims=true correction=0.5", "f16[1,3]"},
      {"std u64[0,3] axis=0", "f64[3]"},
      {"std 2 correction=1", "f32[]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"var f32[2,3] axes=[2]",
       "var: axis 2 is out of range; x has shape f32[2,3]; the axis must lie in -2..1"},
      {"std f32[2] axis=1 correction=1",
       "std: axis 1 is out of range; x has shape f32[2]; the axis must lie in -1..0"},
      {"std f32[2] correction=-1",
       "std: the correction -1 of x, of shape f32[2], is no count; takes 0 <= correction < 2^53"},
      {"var f32[2] correction=nan",
       "var: the correction nan of x, of shape f32[2], is no count; takes 0 <= correction < 2^53"},
      {"var f32[2] correction=true", "var: attribute correction is true; it is a number, such as 1"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_norms(void **state) {
  static const typed good[] = {
      {"layer_norm f32[2,3]", "f32[2,3]"},
      {"layer_norm f16[2,3] f16[3] f16[3]", "f16[2,3]"},
      {"layer_norm f16[2,3] f32[3]", "f32[2,3]"},
      {"layer_norm i8[4,2,3] f16[3] f16[2,1] axis=1 eps=0", "f16[4,2,3]"},
      {"rms_norm f32[n,m] f32[m] eps=1e-6", "f32[n,m]"},
      {"rms_norm bf16[0,3]", "bf16[0,3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"layer_norm f32[2,3] f32[2]", "layer_norm: the weight has shape f32[2]; x has shape f32[2,3], "
                                     "normalised over its last 1 axis; the sizes of a "
                                     "weight are those of these axes, or 1"},
      {"layer_norm f32[4,2,3] f32[3] f32[4,2,3] axis=-2",
       "layer_norm: the bias has shape f32[4,2,3]; x has shape f32[4,2,3], normalised over its last 2 axes; "
       "the sizes of "
       "a bias are those of these axes, or 1"},
      {"rms_norm f32[2,n] f32[4]",
       "rms_norm: the weight has shape f32[4]; x has shape f32[2,n], normalised over its last 1 axis; the "
       "sizes of a "
       "weight are those of these axes, or 1; needs 4 == n, known: 1 <= n <= 8; declare n=4..4"},
      {"rms_norm f32[2] eps=-1", "rms_norm: eps is -1; x has shape f32[2]; takes a finite number >= 0"},
      {"layer_norm f32[]", "layer_norm: axis -1 is out of range; x has shape f32[], which has no axes"},
      {"layer_norm f32[2] f32[2] f32[2] f32[2]",
       "layer_norm: 4 operands given; takes 1 to 3: x, perhaps weight, perhaps bias; attributes: axis, eps; "
       "`viewfold ops layer_norm` shows how"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_splits(void **state) {
  static const typed good[] = {
      {"split f32[4,6] parts=2", "f32[2,6] f32[2,6]"},
      {"split f32[4,6] parts=3 axis=-1", "f32[4,2] f32[4,2] f32[4,2]"},
      {"split f32[m] parts=2", "f32[(m//2)] f32[(m//2)]"},
      {"split i8[0] parts=2", "i8[0] i8[0]"},
      {"split f32[4] parts=1", "f32[4]"},
      {"chunk f32[7] chunks=3", "f32[3] f32[2] f32[2]"},
      {"chunk f32[2] chunks=3", "f32[1] f32[1]"},
      {"chunk f32[5,2] chunks=2 axis=0", "f32[3,2] f32[2,2]"},
      {"chunk f32[m] chunks=4", "f32[(m//4)] f32[(m//4)] f32[(m//4)] f32[(m//4)]"},
      {"unbind f32[2,n]", "f32[n] f32[n]"},
      {"unbind u8[3,2] axis=-1", "u8[3] u8[3]"},
      {"minmax bool[2,3]", "bool[] bool[]"},
      {"minmax u8[2,3] axis=1 keepdims=true", "u8[2,1] u8[2,1]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"split f32[5] parts=2",
       "split: size 5 of axis 0 does not divide by 2; x has shape f32[5]; parts must be equal: chunk "
       "takes any number"},
      {"split f32[n] parts=2", "split: size n of axis 0 does not provably divide by 2; x has shape f32[n]; "
                               "parts must be equal: chunk takes any "
                               "number; needs (n%2) == 0, known: 1 <= n <= 8; declare n=1..8:2"},
      {"split f32[4] parts=0", "split: 0 parts asked for; x has shape f32[4]; takes 1 to 1024"},
      {"split f32[4] parts=2 axis=1",
       "split: axis 1 is out of range; x has shape f32[4]; the axis must lie in -1..0"},
      {"split f32[4]", "split: attribute parts is missing; it is a number of parts, such as 2"},
      {"chunk f32[0] chunks=2", "chunk: axis 0 has size 0; x has shape f32[0]; parts must not be empty, so "
                                "the size must be at least 1"},
      {"chunk f32[n] chunks=2",
       "chunk: size n of axis 0 does not provably divide by 2; x has shape f32[n]; parts of a variable size "
       "must be equal; needs (n%2) == 0, known: 1 <= n <= 8; declare n=1..8:2"},
      {"unbind f32[n,2]",
       "unbind: axis 0 has size n; x has shape f32[n,2]; it gives as many results: a number from 1 to 1024"},
      {"unbind f32[]", "unbind: axis 0 is out of range; x has shape f32[], which has no axes"},
      {"minmax f32[0]", "minmax: axis 0 has size 0; x has shape f32[0]; the minimum or maximum of no "
                        "elements is undefined: each reduced size must be at least 1"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_ranges(void **state) {
  static const typed good[] = {
      {"arange stop=5", "i64[5]"},
      {"arange stop=n dtype=u8", "u8[n]"},
      {"arange start=7 stop=0 step=-2 dtype=f16", "f16[4]"},
      {"arange start=1 stop=0", "i64[0]"},
      {"arange start=-9223372036854775807 stop=9223372036854775807 step=9223372036854775807", "i64[2]"},
      {"arange start=0 stop=128 dtype=i8", "i8[128]"},
      {"arange stop=1.0 step=0.25", "f32[4]"},
      {"arange stop=3.5 dtype=i32", "i32[4]"},
      {"arange start=1 stop=0 step=0.5", "f32[0]"},
      {"linspace start=0 stop=1 num=0", "f32[0]"},
      {"linspace start=5 stop=1.5 num=3 dtype=f64", "f64[3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"arange start=0", "arange: attribute stop is missing; it is a number, such as 10"},
      {"arange stop=5 step=0",
       "arange: start is 0, step 0; takes integers above -2^63, and a step other than 0"},
      {"arange stop=5 dtype=bool", "arange: dtype bool cannot count; use an integer or a float dtype"},
      {"arange stop=129 dtype=i8",
       "arange: the value 128 does not fit i8, which holds the integers -128..127; use a "
       "value in that range or another dtype"},
      {"arange start=-1 stop=m dtype=u8",
       "arange: the value -1 does not fit u8, which holds the integers 0..255; use a "
       "value in that range or another dtype"},
      {"arange start=-9223372036854775807 stop=9223372036854775807",
       "arange: from -9223372036854775807 to 9223372036854775807 by 1 are too many; elements number less "
       "than 2^63"},
      {"arange stop=1.0 step=0",
       "arange: from 0 to 1 by 0 is no range; takes finite numbers, a step other than 0 and at "
       "most 2^53 elements"},
      {"arange stop=inf",
       "arange: from 0 to inf by 1 is no range; takes finite numbers, a step other than 0 and at most "
       "2^53 elements"},
      {"linspace start=0 stop=1 num=-1",
       "linspace: -1 numbers from 0 to 1; takes finite ends and 0 to 2^53 numbers"},
      {"linspace start=0 stop=nan num=2",
       "linspace: 2 numbers from 0 to nan; takes finite ends and 0 to 2^53 numbers"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_triangles(void **state) {
  static const typed good[] = {
      {"eye shape=3", "f32[3,3]"},
      {"eye shape=[2,n] diagonal=-1 dtype=bool", "bool[2,n]"},
      {"eye shape=[0,2] dtype=i8", "i8[0,2]"},
      {"tril f16[5,2,n]", "f16[5,2,n]"},
      {"triu bool[2,3] diagonal=-7", "bool[2,3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"eye shape=[1,2,3]", "eye: shape [1,2,3] has rank 3; takes rows and columns, or one number for both"},
      {"eye shape=[-1,2]", "eye: size -1 of axis 0 in shape [-1,2] is negative; every size must be >= 0"},
      {"tril f32[3]",
       "tril: x has shape f32[3]; a triangle is one of the last two axes: takes rank 2 or more"},
      {"triu f32[3,3] diagonal=9223372036854775807",
       "triu: there is no diagonal 9223372036854775807; takes -2^53 to 2^53"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_einsum(void **state) {
  static const typed good[] = {
      {"einsum f32[2,3] f32[3,4] equation=\"ij,jk->ik\"", "f32[2,4]"},
      {"einsum f32[2,3] f32[3,4] equation=\" i j , j k \"", "f32[2,4]"},
      {"einsum f32[3,2] equation=\"ba\"", "f32[2,3]"},
      {"einsum f32[3,2] equation=\"aB\"", "f32[2,3]"}, /* capitals come first */
      {"einsum f32[3,3] equation=\"ii\"", "f32[]"},
      {"einsum f32[5,n,n] equation=\"...ii->i...\"", "f32[n,5]"},
      {"einsum f16[4,1,2,3] f32[5,3,2] equation=\"...ij,...ji\"", "f32[4,5]"},
      {"einsum i8[2] u8[3] equation=\"i,j->ji\"", "i32[3,2]"},
      {"einsum bf16[2,3] equation=\"ij->\"", "bf16[]"},
      {"einsum f32[] 2 equation=\",->\"", "f32[]"},
      {"einsum f32[n,m] f32[m] f32[n] equation=\"nm,m,n->nm\"", "f32[n,m]"},
      {"einsum f32[0,3] f32[3,2] equation=\"ij,jk\"", "f32[0,2]"},
      {"einsum f32[2,2,2,2,2,2,2,2] f32[2,2,2,2,2,2,2,2] equation=\"abcdefgh,ijklmnop->ponmlkjihgfedcba\"",
       "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"einsum f32[2,3] equation=\"ij,jk\"",
       "einsum: equation 'ij,jk' has 2 terms; the operands number 1; each takes one"},
      {"einsum f32[2,3] equation=\"ijk\"", "einsum: equation 'ijk' has 3 labels for operand 1, which has "
                                           "shape f32[2,3]; each axis takes one, and ... any "
                                           "others"},
      {"einsum f32[2] equation=\"...ij\"",
       "einsum: equation '...ij' has 2 labels for operand 1, which has shape f32[2]; each axis takes one"},
      {"einsum f32[2,3] f32[4,5] equation=\"ij,jk->ik\"",
       "einsum: label 'j' has size 3 in operand 1, of shape f32[2,3], and 4 in operand 2, of shape f32[4,5]; "
       "sizes of a label must be equal or 1"},
      {"einsum f32[2,3] f32[4,2] equation=\"...,...->...\"",
       "einsum: label ... has size 2 in operand 1, of shape f32[2,3], and 4 in operand 2, of shape f32[4,2]; "
       "sizes of a label must be equal or 1"},
      {"einsum f32[n] f32[4] equation=\"i,i\"",
       "einsum: label 'i' has size n in operand 1, of shape f32[n], and 4 in operand 2, of shape f32[4]; "
       "sizes of a label must be equal or 1; needs n == 4, known: 1 <= n <= 8; declare n=4..4"},
      {"einsum f32[2,3] equation=\"ii\"",
       "einsum: label 'i' has size 2 in operand 1, of shape f32[2,3], and "
       "3 in operand 1, of shape f32[2,3]; sizes of a label must be equal or 1"},
      {"einsum f32[1,3] equation=\"ii\"", "einsum: label 'i' has sizes 1 and 3 in one operand, of shape "
                                          "f32[1,3]; those of a diagonal must be equal"},
      {"einsum f32[2] equation=\"i->j\"", "einsum: equation 'i->j': the result has 'j', which no operand "
                                          "has; an equation is like 'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2] equation=\"i->ii\"",
       "einsum: equation 'i->ii': the result has 'i' twice; it may have each label once; an equation is like "
       "'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2,3] equation=\"...i->i\"",
       "einsum: equation '...i->i': operands have axes under ... and the result has "
       "no ...; an equation is like 'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2] equation=\"1\"",
       "einsum: equation '1': labels are letters, or ... once for any axes; an equation is "
       "like 'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2] equation=\"i..\"",
       "einsum: equation 'i..': labels are letters, or ... once for any axes; an equation "
       "is like 'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2] equation=\"......\"",
       "einsum: equation '......': a term has more than one ...; an equation is like "
       "'ij,jk->ik' or '...ii->...i'"},
      {"einsum f32[2] equation=3",
       "einsum: attribute equation is 3; it is an equation in quotes, such as \"ij,jk->ik\""},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_convolutions(void **state) {
  static const typed good[] = {
      {"conv f32[2,3,8] f32[4,3,3]", "f32[2,4,6]"},
      {"conv f32[2,3,8,9] f32[4,3,3,3] f32[4] stride=2 padding=1", "f32[2,4,4,5]"},
      {"conv f16[1,4,5,5,5] f16[6,2,1,2,3] groups=2 dilation=[1,3,2]", "f16[1,6,5,2,1]"},
      {"conv i8[1,1,4] i8[1,1,2] padding=[[0,3]]", "i32[1,1,6]"},
      {"conv f32[n,m,7] f32[2,m,3]", "f32[n,2,5]"},
      {"conv f32[0,1,7] f32[2,1,3]", "f32[0,2,5]"},
      {"conv_transpose f32[2,3,8] f32[3,4,3]", "f32[2,4,10]"},
      {"conv_transpose f32[2,4,5,5] f32[4,3,3,3] f32[6] groups=2 stride=2 padding=1 output_padding=1",
       "f32[2,6,10,10]"},
      {"conv_transpose f32[1,1,3] f32[1,1,3] padding=2", "f32[1,1,1]"},
      {"conv_transpose f16[1,2,n,4] f16[2,3,3,1] stride=[2,3] padding=[1,0] output_padding=[1,2]",
       "f16[1,3,(n*2),12]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"conv f32[2,3] f32[4,3]",
       "conv: x has shape f32[2,3], the weight f32[4,3], and 0 spatial axes; both must have 2 axes before "
       "these: x batch and channels, the weight channels"},
      {"conv f32[2,3,8] f32[4,3,3,3]",
       "conv: x has shape f32[2,3,8], the weight f32[4,3,3,3], and 1 spatial axis; both must have 2 "
       "axes before these: x batch and channels, the weight channels"},
      {"conv f32[2,3,8] f32[4,2,3]",
       "conv: x has shape f32[2,3,8], 3 channels; the weight has shape f32[4,2,3], for 2 channels "
       "in 1 group; both must be equal, where x is [batch, channels, ...] and the weight [results, channels "
       "/ groups, ...]"},
      {"conv f32[2,n,8] f32[4,4,3]",
       "conv: x has shape f32[2,n,8], n channels; the weight has shape "
       "f32[4,4,3], for 4 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the "
       "weight [results, channels / groups, ...]; needs n == 4, known: 1 <= n <= 8; declare n=4..4"},
      {"conv f32[2,4,8] f32[3,2,3] groups=2",
       "conv: 3 channels do not divide into 2 groups; the weight has shape f32[3,2,3]; "
       "groups must be equal"},
      {"conv f32[2,3,8] f32[4,3,3] f32[3]",
       "conv: the bias has shape f32[3]; the result has 4 channels; a bias must have one element for each"},
      {"conv f32[2,3,4] f32[4,3,3] dilation=2", "conv: a window of 3 by dilation 2 spans 5 elements; x has "
                                                "shape f32[2,3,4], 4 in spatial axis 0 with its padding; "
                                                "a window must lie inside"},
      {"conv f32[2,3,n] f32[4,3,3]",
       "conv: a window of 3 by dilation 1 spans 3 elements; x has shape f32[2,3,n], n in spatial axis 0 with "
       "its padding; "
       "a window must lie inside; needs n >= 3, known: 1 <= n <= 8; declare n=3..8"},
      {"conv f32[2,3,8] f32[4,3,n]",
       "conv: the weight has shape f32[4,3,n]; the sizes of its spatial axes are numbers"},
      {"conv f32[2,3,8] f32[4,3,3] stride=0",
       "conv: stride 0 of spatial axis 0 is out of range; x has shape f32[2,3,8]; takes 1 to 2^30"},
      {"conv f32[2,3,8] f32[4,3,3] padding=[[1,-1]]",
       "conv: padding -1 of spatial axis 0 is out of range; x has shape f32[2,3,8]; takes 0 to 2^30"},
      {"conv f32[2,3,8] f32[4,3,3] stride=[1,2]",
       "conv: a list of 2 is given for 1 spatial axis; x has rank 3; each axis takes one"},
      {"conv f32[2,3,8] f32[4,3,3] padding=[[1,2,3]]",
       "conv: attribute padding holds a list of 3; it is a number, or for each spatial axis one or a pair "
       "[before,after], "
       "such as [1,[0,1]]"},
      {"conv f32[2,3,8] f32[4,3,3] groups=0", "conv: groups is 0; x has shape f32[2,3,8]; takes 1 to 2^30"},
      {"conv_transpose f32[2,3,8] f32[4,3,3]",
       "conv_transpose: x has shape f32[2,3,8], 3 channels; the weight has shape "
       "f32[4,3,3], for 4 channels in 1 group; both must be equal, where x is [batch, channels, ...] and the "
       "weight [channels, results / groups, ...]"},
      {"conv_transpose f32[2,3,8] f32[3,4,3] stride=2 output_padding=2",
       "conv_transpose: output_padding 2 of spatial axis 0 is out of range; x has shape f32[2,3,8]; it is >= "
       "0 and less than "
       "the stride or the dilation"},
      {"conv_transpose f32[1,1,2] f32[1,1,3] stride=2 padding=3",
       "conv_transpose: padding [3,3] leaves -1 elements of spatial axis 0 of the result; x has shape "
       "f32[1,1,2]; at least one is left"},
      {"conv_transpose f32[1,1,n] f32[1,1,2] stride=2 padding=1",
       "conv_transpose: padding [1,1] leaves ((n*2)+-2) elements of spatial axis 0 of the result; x has "
       "shape "
       "f32[1,1,n]; at least one is left; needs ((n*2)+-2) >= 1, known: 0 <= "
       "((n*2)+-2) <= 14 in steps of 2; declare n=2..8"},
  };
  CHECK_ALL(check_refused, bad);
}

static void test_pooling(void **state) {
  static const typed good[] = {
      {"max_pool f32[2,3,8,9] kernel=2", "f32[2,3,4,4]"},
      {"max_pool u8[7] kernel=[3] stride=[1] padding=[1]", "u8[7]"},
      {"max_pool bool[n,5] kernel=[2] dilation=[3] stride=[1]", "bool[n,2]"},
      {"avg_pool i32[4,4] kernel=[2,2]", "f32[2,2]"},
      {"avg_pool f16[1,1,9] kernel=3 stride=2 padding=1 count_pads=false", "f16[1,1,5]"},
      {"max_pool f32[m,2] kernel=[4,1]", "f32[(m//4),2]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"max_pool f32[2,3] kernel=2",
       "max_pool: windows of 0 axes; x has shape f32[2,3]; takes windows of its last axes, 1 to all of "
       "them, as in kernel=[2,2]; a single number is the size on all axes behind batch and channels"},
      {"avg_pool f32[3] kernel=[1,1]",
       "avg_pool: windows of 2 axes; x has shape f32[3]; takes windows of its last axes, 1 to all of them, "
       "as "
       "in kernel=[2,2]; a single number is the size on all axes behind batch and channels"},
      {"max_pool f32[8] kernel=[2] padding=[2]",
       "max_pool: padding [2,2] of spatial axis 0 is more than half a window, which spans 2; x has shape "
       "f32[8]; each window "
       "holds an element"},
      {"max_pool f32[1] kernel=[2] dilation=[4] padding=[2]",
       "max_pool: spatial axis 0 has size 1, the window dilation 4 and padding; x has shape f32[1]; each "
       "window holds an "
       "element: the size is at least the dilation"},
      {"avg_pool f32[z] kernel=[2] padding=[1]",
       "avg_pool: spatial axis 0 has size z, the window dilation 1 and padding; x has shape f32[z]; each "
       "window holds an "
       "element: the size is at least the dilation; needs z >= 1, known: 0 <= z <= 5; declare z=1..5"},
      {"max_pool f32[3] kernel=[4]",
       "max_pool: a window of 4 by dilation 1 spans 4 elements; x has shape f32[3], 3 in spatial "
       "axis 0 with its padding; a window must lie inside"},
      {"avg_pool f32[8] kernel=[0]",
       "avg_pool: kernel 0 of spatial axis 0 is out of range; x has shape f32[8]; takes 1 to 2^30"},
      {"avg_pool f32[8]",
       "avg_pool: attribute kernel is missing; it is a size, or one for each spatial axis, such as [3,3]"},
  };
  CHECK_ALL(check_refused, bad);
}

/* An operand of 0 gives 0 without a further message; so does every call after an error, and the first error
 * stays. */
static void test_null_propagates(void **state) {
  recorder *r = record_begin();
  ir_graph *g = &r->g;
  ir_ref size = ir_index(g, 4), a = op_input(g, "a", 1, IR_F32, &size, 1), none = 0, two[] = {a, 0};
  op_window w = {.extent = 1, .stride = 1, .dilation = 1};
  for (int iteration = 0; iteration < 2; iteration++) {
    assert_int_equal(
        op_softmax(g, none, 0) | op_log_softmax(g, none, 0) | op_logsumexp(g, none, NULL, 0, false), 0);
    assert_int_equal(op_var(g, none, NULL, 0, false, 0) | op_std(g, none, NULL, 0, false, 0), 0);
    assert_int_equal(op_layer_norm(g, two, 2, 0, 0) | op_rms_norm(g, &none, 1, 0, 0), 0);
    assert_int_equal(op_split(g, none, 2, 0) | op_chunk(g, none, 2, 0) | op_unbind(g, none, 0), 0);
    assert_int_equal(op_minmax(g, none, NULL, 0, false) | op_minmax(g, a, &none, 1, false), 0);
    assert_int_equal(op_arange(g, IR_I32, 0, none, 1) | op_eye(g, IR_F32, &none, 1, 0), 0);
    assert_int_equal(op_tril(g, none, 0) | op_triu(g, none, 0) | op_einsum(g, "i,i", 3, two, 2), 0);
    assert_int_equal(op_conv(g, two, 2, &w, 1, 1) | op_conv_transpose(g, two, 2, &w, 1, 1), 0);
    assert_int_equal(op_max_pool(g, none, &w, 1) | op_avg_pool(g, none, &w, 1, true), 0);
    if (iteration == 0) {
      assert_int_equal(r->error.status, IR_OK);
      none = op_unary(g, IR_OP_NEG, op_unsqueeze(g, a, 9));
    }
  }
  assert_int_equal(op_softmax(g, a, 7), 0);
  assert_string_equal(r->error.text,
                      "unsqueeze: axis 9 is out of range; x has shape f32[4]; the axis must lie in -2..1");
}

/* A failing allocation is an error that leaks nothing; the caller names the operation. */
static void test_indirection(void **state) {
  static const typed good[] = {
      {"take f32[2,3] i64[4]", "f32[4]"},
      {"take f32[2,3] i64[4] axis=-1", "f32[2,4]"},
      {"take f32[n,3] u8[]", "f32[]"},
      {"take_along_axis f32[2,3] i64[2,5] axis=1", "f32[2,5]"},
      {"take_along_axis f32[1,3,n] i8[4,2,1] axis=1 mode=clip", "f32[4,2,n]"},
      {"put_along_axis f16[2,3] i64[2,1] 1.5 axis=-1", "f16[2,3]"},
      {"scatter_add_along_axis i64[2,n] i64[2,1] i8[2,n]", "i64[2,n]"},
      {"slice_update f32[3,4] f32[2,2] start=[1,1]", "f32[3,4]"},
      {"slice_update bf16[n,4] 7 start=[0,-1] size=[n,1]", "bf16[n,4]"},
      {"slice_update bool[3] bool[1] start=[1] size=[2]", "bool[3]"},
  };
  CHECK_ALL(check_typed, good);
  static const record_refused bad[] = {
      {"take f32[2] f32[2]", "take: the indices have shape f32[2]; x has shape f32[2]; indices must be "
                             "integers: cast them, dtype=i32"},
      {"take_along_axis f32[2,3] i64[2]", "take_along_axis: the indices have shape i64[2]; x has shape "
                                          "f32[2,3]; the indices must have 2 axes, as x has"},
      {"take_along_axis f32[2,3] i64[3,3] axis=1", "take_along_axis: axis 0 has size 2 in x and 3 in the "
                                                   "indices, of shapes f32[2,3] and i64[3,3]; sizes of all "
                                                   "axes but axis 1 must be equal, or 1 in one of them"},
      {"put_along_axis f32[1,3] i64[3,3] 0 axis=1", "put_along_axis: axis 0 has size 1 in x and 3 in the "
                                                    "indices, of shapes f32[1,3] and i64[3,3]; sizes of all "
                                                    "axes but axis 1 must be equal, or 1 in the indices"},
      {"put_along_axis f32[2,3] i64[2,1] f32[2,3] axis=1",
       "put_along_axis: the update has shape f32[2,3]; x has shape f32[2,3], of which [2,1] is replaced; an "
       "update "
       "broadcasts to that"},
      {"slice_update f32[3] f32[2] start=[2]",
       "slice_update: start 2 and size 2 do not fit axis 0; x has shape f32[3]; takes 0 <= start, which "
       "counts from the end where it is negative, 0 <= size and start + size <= 3"},
      {"slice_update f32[3,3] f32[2] start=[0,0]",
       "slice_update: the update has shape f32[2]; start has 2 entries; it must have one for each axis, or "
       "size must be given"},
      {"slice_update f32[3] f64[2] start=[0]", "slice_update: the update has shape f64[2]; x has shape "
                                               "f32[3], and keeps its dtype; cast the update to f32"},
      {"slice_update f32[3] 0 start=[0] size=[1,1]",
       "slice_update: start and size have lengths 1 and 2; each axis takes one of both"},
  };
  CHECK_ALL(check_refused, bad);
}

static bool records(recorder *r, const char *line) { return record_line(r, line) != 0; }

static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {
      "softmax f16[2,n]",
      "log_softmax i32[2,3]",
      "uniform i32[] shape=[n,3] low=1 high=2",
      "normal i32[] shape=[4294967296,3] mean=1",
      "bernoulli i32[] shape=[n]",
      "threefry2x32 1 u32[2] 3 4",
      "logsumexp f32[2,3] axes=[1]",
      "gelu f16[2,n] approximate=tanh",
      "elu i32[n] alpha=0.3",
      "sign i32[2]",
      "clip f16[n] low=0 high=1",
      "attention f16[2,n] f16[m,n] f16[m,2] bool[m] causal=true",
      "std f16[n,3] correction=1",
      "layer_norm f16[2,n] f32[n] f32[1]",
      "rms_norm f32[2,3]",
      "split f32[m,2] parts=4",
      "chunk f32[7] chunks=3",
      "unbind f32[2,n]",
      "minmax f32[2,3]",
      "arange start=1 stop=n step=2 dtype=f32",
      "linspace start=0 stop=1 num=3",
      "eye shape=[n,3] diagonal=1",
      "tril f32[2,3]",
      "conv f16[1,2,n] f16[4,1,1] f16[4] groups=2 stride=2",
      "conv_transpose f32[1,1,3] f32[1,1,2] stride=2",
      "avg_pool f32[5] kernel=[2] padding=[1] count_pads=false",
      "take_along_axis f32[n,3] i64[n,1] axis=1",
      "scatter_add_along_axis f16[2,n] i64[1,n] f16[1,n]",
      "slice_update f32[n,3] f32[2] start=[0,1] size=[n,2]",
      "einsum f16[n,n,2] f32[2,3] equation=\"iij,jk->ki\"",
  };
  record_short_of_memory(records, lines, sizeof lines / sizeof *lines, true);
}

UNIT_TESTS(test_softmax, test_activations, test_random, test_attention, test_moments, test_norms, test_splits,
           test_ranges, test_triangles, test_einsum, test_convolutions, test_pooling, test_indirection,
           test_null_propagates, test_any_allocation_may_fail)
