/* Recording: which operands each operation accepts, and the nodes that it records. */
#include "test/lib/record.h"
#include "test/lib/unit.h"

static const ir_dtype data_dtypes[] = {IR_BOOL, IR_I8,  IR_U8,  IR_I16,  IR_U16, IR_I32, IR_U32,
                                       IR_I64,  IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64};
static const char *const promotion[13][13] = {
    {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"},
    {"i8", "i8", "i16", "i16", "i32", "i32", "i64", "i64", "none", "f16", "bf16", "f32", "f64"},
    {"u8", "i16", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"},
    {"i16", "i16", "i16", "i16", "i32", "i32", "i64", "i64", "none", "f16", "bf16", "f32", "f64"},
    {"u16", "i32", "u16", "i32", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"},
    {"i32", "i32", "i32", "i32", "i32", "i32", "i64", "i64", "none", "f16", "bf16", "f32", "f64"},
    {"u32", "i64", "u32", "i64", "u32", "i64", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "none", "f16", "bf16", "f32", "f64"},
    {"u64", "none", "u64", "none", "u64", "none", "u64", "none", "u64", "f16", "bf16", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

static void test_promotion(void **state) {
  for (int i = 0; i < 13; i++)
    for (int k = 0; k < 13; k++)
      assert_string_equal(ir_dtypes[op_promote(data_dtypes[i], data_dtypes[k])].name, promotion[i][k]);
}

static void test_promotion_through_operations(void **state) {
  for (int i = 0; i < 13; i++)
    for (int k = 0; k < 13; k++) {
      recorder *r = record_begin();
      ir_ref a = op_input(&r->g, "a", 1, data_dtypes[i], NULL, 0),
             b = op_input(&r->g, "b", 1, data_dtypes[k], NULL, 0);
      ir_ref y = op_binary(&r->g, IR_OP_MAX, a, b);
      ir_ref xs[] = {a, b}, joined = y ? op_stack(&r->g, xs, 2, 0) : 0;
      assert_string_equal(ir_dtypes[ir_dtype_of(&r->g, y)].name, promotion[i][k]);
      assert_string_equal(ir_dtypes[ir_dtype_of(&r->g, joined)].name, promotion[i][k]);
      assert_int_equal(r->error.status, y ? IR_OK : IR_ERR_INVALID);
    }
}

static void test_result_dtypes(void **state) {
  static const char *const floats[] = {"f32", "f32", "f32", "f32",  "f32", "f32", "f32",
                                       "f64", "f64", "f16", "bf16", "f32", "f64"};
  static const char *const sums[] = {"i32", "i32", "u32", "i32",  "u32", "i32", "u32",
                                     "i64", "u64", "f16", "bf16", "f32", "f64"};
  for (int i = 0; i < 13; i++) {
    assert_string_equal(ir_dtypes[op_float_result(data_dtypes[i])].name, floats[i]);
    assert_string_equal(ir_dtypes[op_accumulator(data_dtypes[i])].name, sums[i]);
  }
}

/* The order does not matter: three dtypes join to the same dtype as any two orders of pairwise joins. */
static void test_join_of_many(void **state) {
  static const record_accepted cases[] = {
      {"concat u64[1] i8[1] f16[1]", "f16[3]", "concat(cast(a:f16),cast(b:f16),c)"},
      {"concat f16[1] u64[1] bf16[1]", "f32[3]", "concat(cast(a:f32),cast(b:f32),cast(c:f32))"},
      {"concat i8[1] u16[1] u8[1]", "i32[3]", "concat(cast(a:i32),cast(b:i32),cast(c:i32))"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_weak_constants(void **state) {
  static const record_accepted good[] = {
      {"add f16[2] 3", "f16[2]", "add(a,3:f16)"},
      {"add u8[2] 255", "u8[2]", "add(a,255:u8)"},
      {"add i64[2] 9223372036854775807", "i64[2]", "add(a,9223372036854775807:i64)"},
      {"add u64[2] 1", "u64[2]", "add(a,1:u64)"},
      {"add i32[2] 0.5", "f32[2]", "add(cast(a:f32),0.5:f32)"},
      {"add i64[2] 0.5", "f32[2]", "add(cast(a:f32),0.5:f32)"},
      {"add f64[2] 0.1", "f64[2]", "add(a,0.1:f64)"},
      {"add bf16[2] 0.1", "bf16[2]", "add(a,0.100097656:bf16)"},
      {"add bool[2] 1", "i32[2]", "add(cast(a:i32),1:i32)"},
      {"mul bool[2] 0.5", "f32[2]", "mul(cast(a:f32),0.5:f32)"},
      {"add 1 2", "i32[]", "add(1:i32,2:i32)"},
      {"add 1 4294967296", "i64[]", "add(1:i64,4294967296:i64)"},
      {"add 1 0.5", "f32[]", "add(1:f32,0.5:f32)"},
      {"div 1 2", "f32[]", "div(1:f32,2:f32)"},
      {"neg 3", "i32[]", "neg(3:i32)"},
      {"exp 2", "f32[]", "exp(2:f32)"},
      {"where bool[2] 1 0", "i32[2]", "where(a,1:i32,0:i32)"},
      {"where bool[2] f16[2] 0", "f16[2]", "where(a,b,0:f16)"},
      {"eq i8[2] -128", "bool[2]", "eq(a,-128:i8)"},
      {"stack 1 2.5", "f32[2]", "stack(1:f32,2.5:f32)"},
      {"expand 7 shape=[2]", "i32[2]", "expand(reshape(7:i32,1),2)"},
      {"cast 300 dtype=u8", "u8[]", "44:u8"},
      {"mul f16[2] inf", "f16[2]", "mul(a,inf:f16)"},
  };
  CHECK_ALL(check_accepted, good);
}

static void test_elementwise(void **state) {
  static const record_accepted cases[] = {
      {"neg i8[2]", "i8[2]", "neg(a)"},
      {"negative f32[2]", "f32[2]", "neg(a)"},
      {"absolute u8[2]", "u8[2]", "abs(a)"},
      {"sqrt i16[2]", "f32[2]", "sqrt(cast(a:f32))"},
      {"exp u64[2]", "f64[2]", "exp(cast(a:f64))"},
      {"sin bool[2]", "f32[2]", "sin(cast(a:f32))"},
      {"tanh bf16[2]", "bf16[2]", "tanh(a)"},
      {"relu i32[2]", "i32[2]", "relu(a)"},
      {"floor i32[2]", "i32[2]", "a"},
      {"round f16[2]", "f16[2]", "round(a)"},
      {"not bool[2]", "bool[2]", "not(a)"},
      {"bitwise_not u8[2]", "u8[2]", "not(a)"},
      {"logical_not f32[2]", "bool[2]", "not(cast(a:bool))"},
      {"add f32[2,3] f32[2,3]", "f32[2,3]", "add(a,b)"},
      {"subtract f32[2,3] f32[3]", "f32[2,3]", "sub(a,expand(reshape(b,1,3),2,3))"},
      {"multiply f32[2,1] f32[3]", "f32[2,3]", "mul(expand(a,2,3),expand(reshape(b,1,3),2,3))"},
      {"add f32[2,3] f32[]", "f32[2,3]", "add(a,expand(reshape(b,1,1),2,3))"},
      {"add f32[1,3] f32[3]", "f32[1,3]", "add(a,reshape(b,1,3))"},
      {"add f32[0,3] f32[1,3]", "f32[0,3]", "add(a,expand(b,0,3))"},
      {"add f32[] f32[]", "f32[]", "add(a,b)"},
      {"add i8[2,3] f16[3]", "f16[2,3]", "add(cast(a:f16),expand(reshape(b,1,3),2,3))"},
      {"add f32[n] f32[n]", "f32[n]", "add(a,b)"},
      {"add f32[n] f32[1]", "f32[n]", "add(a,expand(b,n))"},
      {"add f32[m] f32[3,m]", "f32[3,m]", "add(expand(reshape(a,1,m),3,m),b)"},
      {"add f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2] 1", "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]", "add(a,1:f32)"},
      {"divide i32[2] i32[2]", "f32[2]", "div(cast(a:f32),cast(b:f32))"},
      {"div i64[2] i8[2]", "f64[2]", "div(cast(a:f64),cast(b:f64))"},
      {"div bool[2] bool[2]", "f32[2]", "div(cast(a:f32),cast(b:f32))"},
      {"floor_divide i8[2] u8[2]", "i16[2]", "floordiv(cast(a:i16),cast(b:i16))"},
      {"remainder f32[2] 2", "f32[2]", "mod(a,2:f32)"},
      {"power i32[2] 2", "i32[2]", "pow(a,2:i32)"},
      {"pow f32[2] -2", "f32[2]", "pow(a,-2:f32)"},
      {"maximum bool[2] bool[2]", "bool[2]", "max(a,b)"},
      {"max f32[2] 0", "f32[2]", "max(a,0:f32)"},
      {"min f32[2] f32[2]", "f32[2]", "min(a,b)"},
      {"equal i8[2] u8[2]", "bool[2]", "eq(cast(a:i16),cast(b:i16))"},
      {"not_equal f32[2] f32[2]", "bool[2]", "ne(a,b)"},
      {"less i32[2] f16[2]", "bool[2]", "lt(cast(a:f16),b)"},
      {"less_equal bool[2] bool[2]", "bool[2]", "le(a,b)"},
      {"greater u64[2] u8[2]", "bool[2]", "gt(a,cast(b:u64))"},
      {"greater_equal f32[2] 1", "bool[2]", "ge(a,1:f32)"},
      {"and i8[2] bool[2]", "i8[2]", "and(a,cast(b:i8))"},
      {"or bool[2] bool[2]", "bool[2]", "or(a,b)"},
      {"xor u8[2] 3", "u8[2]", "xor(a,3:u8)"},
      {"logical_and i8[2] f32[2]", "bool[2]", "and(cast(a:bool),cast(b:bool))"},
      {"logical_or bool[2] 5", "bool[2]", "or(a,1:bool)"},
      {"logical_xor u8[2] bool[2]", "bool[2]", "xor(cast(a:bool),b)"},
      {"shl i8[2] 3", "i8[2]", "shl(a,3:i8)"},
      {"left_shift i8[2] 1000", "i8[2]", "shl(a,8:i8)"},
      {"right_shift i32[2] u8[2]", "i32[2]", "shr(a,cast(b:i32))"},
      {"shl bool[2] 20", "i32[2]", "shl(cast(a:i32),20:i32)"},
      {"where bool[3] f32[2,3] i8[]", "f32[2,3]",
       "where(expand(reshape(a,1,3),2,3),b,expand(reshape(cast(c:f32),1,1),2,3))"},
      {"fma f32[2] f16[2] 1", "f32[2]", "fma(a,cast(b:f32),1:f32)"},
      {"cast f32[2] dtype=f32", "f32[2]", "a"},
      {"cast f32[2] dtype=bool", "bool[2]", "cast(a:bool)"},
      {"bitcast f32[2] dtype=u32", "u32[2]", "bitcast(a)"},
      {"bitcast bool[2] dtype=u8", "u8[2]", "bitcast(a)"},
      {"stop_gradient f32[2]", "f32[2]", "bitcast(bitcast(a))"},
      {"stop_gradient i32[2]", "i32[2]", "a"},
      {"bitcast 1 dtype=f32", "f32[]", "bitcast(1:i32)"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_views(void **state) {
  static const record_accepted cases[] = {
      {"permute f32[2,3,4] order=[1,2,0]", "f32[3,4,2]", "permute(a,1,2,0)"},
      {"permute f32[2,3] order=[-1,0]", "f32[3,2]", "permute(a,1,0)"},
      {"permute f32[2,3] order=[0,1]", "f32[2,3]", "a"},
      {"permute f32[] order=[]", "f32[]", "a"},
      {"swap_axes f32[2,3,4] axis1=0 axis2=-1", "f32[4,3,2]", "permute(a,2,1,0)"},
      {"transpose f32[2,3,4]", "f32[4,3,2]", "permute(a,2,1,0)"},
      {"transpose f32[2,3] axis1=0 axis2=1", "f32[3,2]", "permute(a,1,0)"},
      {"swap_axes f32[2,3] axis1=1 axis2=-1", "f32[2,3]", "a"},
      {"moveaxis f32[2,3,4] source=0 destination=2", "f32[3,4,2]", "permute(a,1,2,0)"},
      {"moveaxis f32[2,3,4] source=2 destination=0", "f32[4,2,3]", "permute(a,2,0,1)"},
      {"moveaxis f32[2,3,4] source=-1 destination=-2", "f32[2,4,3]", "permute(a,0,2,1)"},
      {"reshape f32[2,3] shape=[3,2]", "f32[3,2]", "reshape(a,3,2)"},
      {"reshape f32[2,3] shape=[-1,2]", "f32[3,2]", "reshape(a,3,2)"},
      {"reshape f32[2,3] shape=6", "f32[6]", "reshape(a,6)"},
      {"reshape f32[2,3] shape=[2,-1]", "f32[2,3]", "a"},
      {"reshape f32[] shape=[1,1]", "f32[1,1]", "reshape(a,1,1)"},
      {"reshape f32[1] shape=[]", "f32[]", "reshape(a)"},
      {"reshape f32[0,3] shape=[7,0]", "f32[7,0]", "reshape(a,7,0)"},
      {"reshape f32[0,3] shape=[-1,3]", "f32[0,3]", "a"},
      {"reshape f32[n,4] shape=[2,-1]", "f32[2,(n*2)]", "reshape(a,2,(n*2))"},
      {"reshape f32[n,4] shape=[4,n]", "f32[4,n]", "reshape(a,4,n)"},
      {"reshape f32[m,32] shape=[m//4,128]", "f32[(m//4),128]", "reshape(a,(m//4),128)"},
      {"reshape f32[m,2] shape=[-1,8]", "f32[(m//4),8]", "reshape(a,(m//4),8)"},
      {"flatten f32[2,3,4]", "f32[24]", "reshape(a,24)"},
      {"flatten f32[2,3,4] start_dim=1 end_dim=2", "f32[2,12]", "reshape(a,2,12)"},
      {"flatten f32[2,3,4] start_dim=1 end_dim=1", "f32[2,3,4]", "a"},
      {"flatten f32[]", "f32[1]", "reshape(a,1)"},
      {"expand f32[2,1] shape=[2,5]", "f32[2,5]", "expand(a,2,5)"},
      {"broadcast_to f32[3] shape=[2,3]", "f32[2,3]", "expand(reshape(a,1,3),2,3)"},
      {"expand f32[3] shape=[1,3]", "f32[1,3]", "reshape(a,1,3)"},
      {"expand f32[2,3] shape=[2,3]", "f32[2,3]", "a"},
      {"expand f32[1] shape=[0]", "f32[0]", "expand(a,0)"},
      {"expand f32[1] shape=[n]", "f32[n]", "expand(a,n)"},
      {"expand f32[] shape=[2,n]", "f32[2,n]", "expand(reshape(a,1,1),2,n)"},
      {"unsqueeze f32[2,3] axis=-1", "f32[2,3,1]", "unsqueeze(a;2)"},
      {"unsqueeze f32[2,3] axis=-3", "f32[1,2,3]", "unsqueeze(a)"},
      {"unsqueeze f32[] axis=0", "f32[1]", "unsqueeze(a)"},
      {"squeeze f32[1,5] axis=0", "f32[5]", "squeeze(a)"},
      {"squeeze f32[2,1,3,1]", "f32[2,3]", "squeeze(squeeze(a;3);1)"},
      {"squeeze f32[2,1,3,1] axis=[1,-1]", "f32[2,3]", "squeeze(squeeze(a;3);1)"},
      {"squeeze f32[2,3]", "f32[2,3]", "a"},
      {"shrink f32[6,6] bounds=[[1,5],[0,3]]", "f32[4,3]", "shrink(a,1,5,0,3)"},
      {"shrink f32[6] bounds=[[3,3]]", "f32[0]", "shrink(a,3,3)"},
      {"shrink f32[6] bounds=[[0,6]]", "f32[6]", "a"},
      {"shrink f32[m] bounds=[[1,4]]", "f32[3]", "shrink(a,1,4)"},
      {"shrink f32[m] bounds=[[1,m]]", "f32[(m+-1)]", "shrink(a,1,m)"},
      {"slice_tensor f32[3,4] start=[-2,1] size=[2,2]", "f32[2,2]", "shrink(a,1,3,1,3)"},
      {"slice f32[3,4] bounds=[[0,2],[1,3]]", "f32[2,2]", "shrink(a,0,2,1,3)"},
      {"stride f32[8] steps=[2]", "f32[4]", "stride(a,2)"},
      {"stride f32[5,6] steps=[-2,-4]", "f32[3,2]", "stride(a,-2,-4)"},
      {"stride f32[5] steps=[100]", "f32[1]", "stride(a,100)"},
      {"stride f32[0] steps=[2]", "f32[0]", "stride(a,2)"},
      {"stride f32[5,5] steps=[1,1]", "f32[5,5]", "a"},
      {"flip f32[2,3] axes=[-1,0]", "f32[2,3]", "flip(a,0,1)"},
      {"flip f32[2,3] axis=1", "f32[2,3]", "flip(a,1)"},
      {"flip f32[2,3] axes=[]", "f32[2,3]", "a"},
      {"point f32[2,3] index=-1 axis=1", "f32[2]", "point(a,2;1)"},
      {"point f32[m,3] index=3", "f32[3]", "point(a,3)"},
      {"pad f32[3] pads=[[2,1]]", "f32[6]", "pad(a,0:f32,2,1)"},
      {"pad i32[2,2] pads=[[1,0],[0,2]] value=9", "i32[3,4]", "pad(a,9:i32,1,0,0,2)"},
      {"pad f16[2] pads=[[1,0]] value=-inf", "f16[3]", "pad(a,-inf:f16,1,0)"},
      {"pad bool[2] pads=[[1,0]] value=true", "bool[3]", "pad(a,1:bool,1,0)"},
      {"pad i8[2] pads=[[1,0]] value=2.0", "i8[3]", "pad(a,2:i8,1,0)"},
      {"pad f32[2] pads=[[0,0]] value=9", "f32[2]", "a"},
      {"pad f32[0] pads=[[1,1]]", "f32[2]", "pad(a,0:f32,1,1)"},
      {"pad f32[3] pads=[[2,2]] mode=reflect", "f32[7]", "pad(a,0:f32,2,2;2)"},
      {"pad f32[3] pads=[[5,0]] mode=edge", "f32[8]", "pad(a,0:f32,5,0;1)"},
      {"pad f32[3] pads=[[5,7]] mode=wrap value=0", "f32[15]", "pad(a,0:f32,5,7;3)"},
      {"pad f32[0,3] pads=[[0,0],[1,1]] mode=edge", "f32[0,5]", "pad(a,0:f32,0,0,1,1;1)"},
      {"pad f32[n] pads=[[0,m]]", "f32[(m+n)]", "pad(a,0:f32,0,m)"},
      {"concat f32[2,2] f32[1,2] axis=0", "f32[3,2]", "concat(a,b)"},
      {"concatenate f32[2,2] i8[2,1] axis=-1", "f32[2,3]", "concat(a,cast(b:f32);1)"},
      {"concat f32[2] f32[0]", "f32[2]", "concat(a,b)"},
      {"concat f32[2]", "f32[2]", "a"},
      {"concat f32[n] f32[4]", "f32[(n+4)]", "concat(a,b)"},
      {"stack f32[2] f32[2] axis=-1", "f32[2,2]", "stack(a,b;1)"},
      {"stack f32[2,3] f32[2,3] f32[2,3]", "f32[3,2,3]", "stack(a,b,c)"},
      {"stack f32[] f32[]", "f32[2]", "stack(a,b)"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_reductions(void **state) {
  static const record_accepted cases[] = {
      {"sum f32[2,3] axes=[1]", "f32[2]", "sum(a,1)"},
      {"sum f32[2,3] axes=[-1,0]", "f32[]", "sum(a,0,1)"},
      {"reduce_sum f32[2,3] axis=0 keepdims=true", "f32[1,3]", "sum(a,0;1)"},
      {"sum f32[2,3]", "f32[]", "sum(a,0,1)"},
      {"sum f32[2,3] axes=[]", "f32[2,3]", "a"},
      {"sum i8[2,3] axes=[]", "i32[2,3]", "cast(a:i32)"},
      {"sum bool[]", "i32[]", "cast(a:i32)"},
      {"sum u16[2]", "u32[]", "sum(cast(a:u32),0)"},
      {"sum f16[2]", "f16[]", "sum(a,0)"},
      {"sum i64[0]", "i64[]", "sum(a,0)"},
      {"reduce_prod bool[2]", "i32[]", "prod(cast(a:i32),0)"},
      {"mean i32[2,3] axes=[0]", "f32[3]", "mean(cast(a:f32),0)"},
      {"reduce_mean u64[2]", "f64[]", "mean(cast(a:f64),0)"},
      {"mean f32[0]", "f32[]", "mean(a,0)"},
      {"max i8[2,3] axes=[0] keepdims=false", "i8[3]", "max(a,0)"},
      {"reduce_max bool[2]", "bool[]", "max(a,0)"},
      {"min f32[n]", "f32[]", "min(a,0)"},
      {"reduce_min f32[z,3] axes=[1]", "f32[z]", "min(a,1)"},
      {"any f32[2]", "bool[]", "any(cast(a:bool),0)"},
      {"reduce_all bool[2,0] keepdims=true", "bool[1,1]", "all(a,0,1;1)"},
      {"sum f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] axes=[15]", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
       "sum(a,15)"},
      {"argmax f32[2,3] axis=-1", "i64[2]", "argmax(a;1)"},
      {"argmin i8[2,3] axis=0 keepdims=true", "i64[1,3]", "argmin(a;1)"},
      {"argmax bool[2,3]", "i64[]", "argmax(reshape(a,6))"},
      {"argmax f32[2,3] keepdims=true", "i64[1,1]", "reshape(argmax(reshape(a,6)),1,1)"},
      {"argmax f32[]", "i64[]", "argmax(reshape(a,1))"},
      {"sum 3", "i32[]", "3:i32"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_contractions(void **state) {
  static const record_accepted cases[] = {
      {"matmul f32[2,3] f32[3,4]", "f32[2,4]", "matmul(a,b)"},
      {"matmul f32[3] f32[3,4]", "f32[4]", "squeeze(matmul(unsqueeze(a),b))"},
      {"matmul f32[2,3] f32[3]", "f32[2]", "squeeze(matmul(a,unsqueeze(b;1));1)"},
      {"matmul f32[3] f32[3]", "f32[]", "squeeze(squeeze(matmul(unsqueeze(a),unsqueeze(b;1));1))"},
      {"matmul f32[5,2,3] f32[3,4]", "f32[5,2,4]", "matmul(a,expand(reshape(b,1,3,4),5,3,4))"},
      {"matmul f32[5,1,2,3] f32[6,3,4]", "f32[5,6,2,4]",
       "matmul(expand(a,5,6,2,3),expand(reshape(b,1,6,3,4),5,6,3,4))"},
      {"matmul f32[5,2,3] f32[3]", "f32[5,2]",
       "squeeze(matmul(a,expand(reshape(unsqueeze(b;1),1,3,1),5,3,1));2)"},
      {"matmul i8[2,3] i8[3,2]", "i32[2,2]", "matmul(cast(a:i32),cast(b:i32))"},
      {"matmul u8[2,3] u16[3,2]", "u32[2,2]", "matmul(cast(a:u32),cast(b:u32))"},
      {"matmul f16[2,3] i8[3,2]", "f16[2,2]", "matmul(a,cast(b:f16))"},
      {"matmul f32[2,0] f32[0,3]", "f32[2,3]", "matmul(a,b)"},
      {"matmul f32[n,m] f32[m,n]", "f32[n,n]", "matmul(a,b)"},
      {"gather f32[3,2] i64[3]", "f32[3,2]", "gather(a,b)"},
      {"take f32[2,3] u8[4,5] axis=-1 mode=clip", "f32[2,4,5]", "gather(a,b;1)"},
      {"gather f32[4] i32[] mode=fill", "f32[]", "gather(a,b;2)"},
      {"gather f32[4,2] 1", "f32[2]", "gather(a,1:i32)"},
      {"gather f32[0] i64[2] mode=fill", "f32[2]", "gather(a,b;2)"},
      {"gather f32[0,2] i64[0]", "f32[0,2]", "gather(a,b)"},
      {"gather f32[3,4,2] i64[3,5] axis=1 batch=1", "f32[3,5,2]", "gather(a,b;1)"},
      {"gather f32[n,2,m] i64[n,5] axis=2 batch=1", "f32[n,2,5]", "gather(a,b;2)"},
      {"gather f32[n,4] i64[n] axis=1 batch=1", "f32[n]", "gather(a,b;1)"},
      {"scatter f32[4,2] u8[3] f32[3,2]", "f32[4,2]", "scatter(a,b,c)"},
      {"scatter f32[4,2] u8[3] 0 axis=1 mode=fill", "f32[4,2]",
       "scatter(a,b,expand(reshape(0:f32,1,1),4,3);2)"},
      {"scatter_add f32[n,4] i32[5] f16[5] axis=-1", "f32[n,4]",
       "scatter_add(a,b,expand(reshape(cast(c:f32),1,5),n,5);1)"},
      {"scatter i64[3,4] i32[3,2] i8[3,2] axis=1 batch=1", "i64[3,4]", "scatter(a,b,cast(c:i64);1)"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_leaves(void **state) {
  static const record_accepted cases[] = {
      {"const value=3 dtype=f32", "f32[]", "3:f32"},
      {"const value=3", "i32[]", "3:i32"},
      {"constant value=true", "bool[]", "1:bool"},
      {"const value=18446744073709551615 dtype=u64", "u64[]", "-1:u64"},
      {"const value=0.1 dtype=f16", "f16[]", "0.0999755859:f16"},
      {"full shape=[2,3] value=7 dtype=i8", "i8[2,3]", "expand(reshape(7:i8,1,1),2,3)"},
      {"full shape=[] value=0.5", "f32[]", "0.5:f32"},
      {"full shape=[n] value=1", "i32[n]", "expand(reshape(1:i32,1),n)"},
      {"zeros shape=[2]", "f32[2]", "expand(reshape(0:f32,1),2)"},
      {"ones shape=[0] dtype=bool", "bool[0]", "expand(reshape(1:bool,1),0)"},
      {"iota shape=[2,3] axis=1", "i64[2,3]", "iota(2,3;1)"},
      {"iota shape=[n] axis=-1 dtype=f32", "f32[n]", "iota(n)"},
      {"data values=[1,2,3]", "i32[3]", "data(3)"},
      {"data values=[[1,2],[3,4],[5,6]] dtype=u8", "u8[3,2]", "data(3,2)"},
      {"data values=[1,2,3,4] shape=[2,2] dtype=f16", "f16[2,2]", "data(2,2)"},
      {"data values=[1,0.5]", "f32[2]", "data(2)"},
      {"data values=[true,false]", "bool[2]", "data(2)"},
      {"data values=[1,4294967296]", "i64[2]", "data(2)"},
      {"data values=[]", "f32[0]", "data(0)"},
      {"data values=[[],[]] dtype=i64", "i64[2,0]", "data(2,0)"},
      {"data values=[] shape=[0,5]", "f32[0,5]", "data(0,5)"},
      {"data values=[5] shape=[]", "i32[]", "data()"},
  };
  CHECK_ALL(check_accepted, cases);
}

static void test_data_elements(void **state) {
  recorder *r = record_begin();
  ir_ref x = record_line(r, "data values=[[-1,258],[3,4]] dtype=i16");
  int16_t expected[] = {-1, 258, 3, 4};
  assert_int_equal(ir_name_length(&r->g, ir_get(&r->g, x)->arg), sizeof expected);
  assert_memory_equal(ir_name_text(&r->g, ir_get(&r->g, x)->arg), expected, sizeof expected);
  ir_ref y = op_data(&r->g, IR_I16, (ir_ref[]){ir_index(&r->g, 2), ir_index(&r->g, 2)}, 2, expected,
                     sizeof expected);
  assert_int_equal(x, y);
  assert_int_equal(op_data(&r->g, IR_I16, NULL, 0, expected, sizeof expected), 0);
  assert_string_equal(r->error.text, "data: shape i16[] takes 1 element; values has 4");
}

/* ------------------------------------------------------------------------------------ names and attributes
 */

/* Every tensor operation has a registry row, and the parser knows it; nothing else is in the registry. */
static void test_registry_is_complete(void **state) {
  for (int op = 0; op < IR_OP_COUNT; op++) {
    bool recorded = (ir_ops[op].level & IR_LEVEL_TENSOR) && op != IR_OP_ERROR && op != IR_OP_TUPLE &&
                    op != IR_OP_VAR && op != IR_OP_FUNC;
    if (recorded != (op_registry[op].kind != OP_KIND_NONE)) fail_msg("registry row of %s", ir_ops[op].text);
    bool named = recorded && op != IR_OP_INPUT && op != IR_OP_BUFFER && op != IR_OP_RESOURCE &&
                 op != IR_OP_RESULT && op != IR_OP_CUSTOM;
    if (named && !op_known(ir_ops[op].text, strlen(ir_ops[op].text))) fail_msg("name of %s", ir_ops[op].text);
  }
  assert_false(op_known("input", 5));
}

/* The registry's shape rules hold for what is recorded. */
static void test_shape_rules(void **state) {
  for (int op = 0; op < IR_OP_COUNT; op++) {
    recorder *r = record_begin();
    ir_ref shape[] = {ir_index(&r->g, 2), ir_index(&r->g, 3)};
    ir_dtype dtype =
        op_registry[op].dtype == OP_DTYPE_BITS || op_registry[op].dtype == OP_DTYPE_INTEGER ? IR_I32 : IR_F32;
    ir_ref a = op_input(&r->g, "a", 1, dtype, shape, 2), b = op_input(&r->g, "b", 1, dtype, shape + 1, 1),
           y = 0;
    if (op_registry[op].kind == OP_KIND_UNARY && op_registry[op].dtype != OP_DTYPE_GIVEN)
      y = op_unary(&r->g, (ir_op)op, a);
    if (op_registry[op].kind == OP_KIND_BINARY) y = op_binary(&r->g, (ir_op)op, b, a);
    if (y) assert_int_equal(ir_shape(&r->g, y), ir_shape(&r->g, a));
    if (op_registry[op].shape == OP_SHAPE_REDUCE) {
      y = op_reduce(&r->g, (ir_op)op, a, NULL, 0, true);
      assert_int_equal(ir_rank(&r->g, y), 2);
    }
    assert_int_equal(r->error.status, IR_OK);
  }
}

/* An operand of 0 gives 0 without a further message, so the first error is the one that is reported. */
static void test_null_propagates(void **state) {
  recorder *r = record_begin();
  ir_ref size = ir_index(&r->g, 2), zero = ir_index(&r->g, 0), pair[] = {zero, zero};
  ir_ref a = op_input(&r->g, "a", 1, IR_F32, &size, 1), none = 0;
  ir_graph *g = &r->g;
  assert_int_equal(op_unary(g, IR_OP_NEG, 0), 0);
  assert_int_equal(op_binary(g, IR_OP_ADD, a, 0) | op_binary(g, IR_OP_ADD, 0, a), 0);
  assert_int_equal(op_logical(g, IR_OP_AND, 0, a) | op_logical_not(g, 0), 0);
  assert_int_equal(op_where(g, 0, a, a) | op_fma(g, a, a, 0), 0);
  assert_int_equal(op_cast(g, 0, IR_I8) | op_bitcast(g, 0, IR_I8) | op_default_dtype(g, 0), 0);
  assert_int_equal(op_permute(g, 0, &zero, 1) | op_permute(g, a, &none, 1), 0);
  assert_int_equal(op_swap_axes(g, 0, 0, 0) | op_move_axis(g, 0, 0, 0) | op_flatten(g, 0, 0, 0), 0);
  assert_int_equal(op_reshape(g, 0, &size, 1) | op_reshape(g, a, &none, 1), 0);
  assert_int_equal(op_expand(g, 0, &size, 1) | op_expand(g, a, &none, 1), 0);
  assert_int_equal(op_unsqueeze(g, 0, 0) | op_squeeze(g, 0, NULL, 0) | op_squeeze(g, a, &none, 1), 0);
  assert_int_equal(op_shrink(g, 0, pair, 1) | op_slice(g, "slice", 0, &zero, &zero, 1) |
                       op_slice(g, "slice", a, &zero, &none, 1),
                   0);
  assert_int_equal(op_stride(g, 0, &size, 1) | op_stride(g, a, &none, 1) | op_flip(g, 0, &zero, 1), 0);
  assert_int_equal(op_point(g, 0, zero, 0) | op_point(g, a, 0, 0), 0);
  assert_int_equal(op_pad(g, 0, pair, 1, 0, IR_PAD_CONSTANT), 0);
  assert_int_equal(op_concat(g, (ir_ref[]){a, 0}, 2, 0) | op_stack(g, (ir_ref[]){0, a}, 2, 0), 0);
  assert_int_equal(op_reduce(g, IR_OP_SUM, 0, NULL, 0, false) | op_reduce(g, IR_OP_SUM, a, &none, 1, false),
                   0);
  assert_int_equal(op_argreduce(g, IR_OP_ARGMAX, 0, NULL, false), 0);
  assert_int_equal(op_matmul(g, a, 0) | op_gather(g, a, 0, 0, IR_GATHER_CHECK), 0);
  assert_int_equal(op_input(g, "b", 1, IR_F32, &none, 1) | op_iota(g, IR_I32, &none, 1, 0), 0);
  assert_int_equal(r->error.status, IR_OK);

  ir_ref lost = op_unary(g, IR_OP_NEG, op_unsqueeze(g, a, 9));
  assert_int_equal(op_matmul(g, lost, op_unsqueeze(g, a, -9)), 0);
  assert_string_equal(r->error.text,
                      "unsqueeze: axis 9 is out of range; x has shape f32[2]; the axis must lie in -2..1");
}

static void test_identity(void **state) {
  recorder *r = record_begin();
  ir_ref size = ir_index(&r->g, 2), a = op_input(&r->g, "a", 1, IR_F32, &size, 1);
  ir_ref two = op_literal_int(&r->g, 2), firm = op_const(&r->g, IR_F32, (ir_value){.f = 2});
  assert_int_equal(op_binary(&r->g, IR_OP_MUL, a, two), op_binary(&r->g, IR_OP_MUL, a, firm));
  assert_int_equal(op_binary(&r->g, IR_OP_MUL, a, two),
                   op_binary(&r->g, IR_OP_MUL, a, op_literal_float(&r->g, 2)));
  assert_int_not_equal(op_buffer(&r->g, IR_F32, &size, 1), op_buffer(&r->g, IR_F32, &size, 1));
  assert_int_equal(op_input(&r->g, "a", 1, IR_F32, &size, 1), a);
  assert_int_equal(r->error.status, IR_OK);
}

/* A misuse of the builders themselves is an error, not a crash. */
static void test_wrong_kind(void **state) {
  recorder *r = record_begin();
  ir_ref size = ir_index(&r->g, 2), a = op_input(&r->g, "a", 1, IR_F32, &size, 1);
  assert_int_equal(op_unary(&r->g, IR_OP_ADD, a) | op_binary(&r->g, IR_OP_NEG, a, a), 0);
  assert_int_equal(
      op_reduce(&r->g, IR_OP_ARGMAX, a, NULL, 0, false) | op_argreduce(&r->g, IR_OP_SUM, a, NULL, false), 0);
  assert_int_equal(op_logical(&r->g, IR_OP_ADD, a, a), 0);
  assert_int_equal(r->error.status, IR_ERR_INTERNAL);
}

static bool records(recorder *r, const char *line) { return record_line(r, line) != 0; }

/* Whichever allocation fails, the result is 0 with an error, and nothing leaks. */
static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {
      "add i8[2,3] f16[3]",      "matmul f32[5,2,3] f32[3]",  "concat i8[2] f32[n] axis=0",
      "pad f32[n] pads=[[0,m]]", "data values=[[1,2],[3,4]]", "argmax f32[2,3] keepdims=true",
      "full shape=[n] value=1",
  };
  static const char *const refused[] = {"reshape f32[n,4] shape=[16]", "permute f32[2,3] order=[0,0]",
                                        "frob f32[2]", "add f32[2] 1 alpha=2"};
  record_short_of_memory(records, lines, sizeof lines / sizeof *lines, true);
  record_short_of_memory(records, refused, sizeof refused / sizeof *refused, false);
}

UNIT_TESTS(test_promotion, test_promotion_through_operations, test_result_dtypes, test_join_of_many,
           test_weak_constants, test_elementwise, test_views, test_reductions, test_contractions, test_leaves,
           test_data_elements, test_registry_is_complete, test_shape_rules, test_null_propagates,
           test_identity, test_wrong_kind, test_any_allocation_may_fail)
