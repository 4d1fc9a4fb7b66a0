/* Instructions of one operation, as code generation writes it for x86-64 (codegen/llvm).
 *
 * Counts of instructions follow codegen/llvm/arith.c and convert.c. Cycles are those that the instructions
 * take from Skylake and Zen 3 on, by uops.info and A. Fog's tables (Instruction tables, 2024), which differ
 * little from one to the next: additions, products and fused multiply-adds of floats take four, integers
 * one, conversions and shuffles three to four. */
#include "passes/cost/kernel_walk.h"

#include <math.h>

enum {
  ARITHMETIC_CYCLES = 4,    /* + - * fma of floats */
  INTEGER_CYCLES = 1,       /* + - and or, of integers */
  PRODUCT_CYCLES = 5,       /* of integers; an i32 product of vectors is two instructions */
  MOVE_CYCLES = 3,          /* a shuffle, a conversion, a comparison whose result is a mask */
  DIVISION_INSTRUCTIONS = 3 /* of 64 bytes, which are divided by halves */
};

int kernel_register_bytes(ir_dtype dtype) {
  if (dtype == IR_F16 || dtype == IR_BF16) return 4; /* held as f32 */
  if (dtype == IR_INDEX) return 4;                   /* vectors of indices: cg_index_bits */
  return ir_dtypes[dtype].bytes ? ir_dtypes[dtype].bytes : 1;
}

double kernel_registers(uint32_t width, int bytes, const ir_target *target) {
  double all = (double)width * bytes / target->vector_bytes;
  return all <= 1 ? 1 : ceil(all);
}

/* Products of integers of 4 and 8 bytes are an instruction of the units that multiply, where product_cost
 * says two and three (Zen 4: VPMULLD, VPMULLQ). */
static void fit_product(const ir_node *n, double bytes, kernel_cost *cost) {
  int element = kernel_register_bytes((ir_dtype)n->dtype);
  if (n->op != IR_OP_MUL || n->nsrc != 2 || ir_is_float((ir_dtype)n->dtype) || element < 4 ||
      bytes <= element)
    return;
  cost->unit[KERNEL_ALU] /= element == 4 ? 2 : 3;
  cost->unit[KERNEL_FLOAT] = cost->unit[KERNEL_ALU];
  cost->latency = ARITHMETIC_CYCLES;
}

/* Where vectors have 64 bytes, two units of 32 are one of these (Sunny Cove, Golden Cove): of shorter ones
 * three are executed in the time of two. Where all units have 32 bytes (Zen 4: four, of which two multiply,
 * two add and two shuffle), twice as many shorter ones are, and a product of 64 bytes takes both that
 * multiply. */
void kernel_fit_units(const kernel_walk *w, const ir_node *n, double bytes, kernel_cost *cost) {
  bool shorter = w->target->vector_bytes >= 64 && bytes <= 32;
  double share = !shorter ? 1 : w->rates->halves ? 1.0 / 2 : 2.0 / 3;
  if (w->rates->halves) fit_product(n, bytes, cost);
  cost->unit[KERNEL_OTHER] += (1 - share) * cost->unit[KERNEL_ALU]; /* they are as many */
  cost->unit[KERNEL_ALU] *= share;
  if (w->rates->halves) {
    cost->unit[KERNEL_OTHER] += (1 - share) * cost->unit[KERNEL_SHUFFLE];
    cost->unit[KERNEL_SHUFFLE] *= share;
    cost->unit[KERNEL_FLOAT] *= n->op == IR_OP_ADD || n->op == IR_OP_SUB ? 0 : 2 * share;
  } else {
    cost->unit[KERNEL_FLOAT] *= share;
  }
}

void kernel_add(kernel_cost *to, const kernel_cost *cost, double times) {
  for (int i = 0; i < KERNEL_UNITS; i++) to->unit[i] += times * cost->unit[i];
}

double kernel_instructions(const kernel_cost *cost) {
  double all = 0;
  for (int i = 0; i < KERNEL_UNITS; i++) all += i == KERNEL_DIVIDER || i == KERNEL_FLOAT ? 0 : cost->unit[i];
  return all;
}

/* Instructions a cycle. Of vectors of 64 bytes two in a cycle are arithmetic, one of them a shuffle, and one
 * is a store; of shorter ones three and two, of which two add or multiply floats (Sunny Cove, Golden Cove;
 * Zen 4 and 5 have four for either, of which two multiply). Loads: two. In all six are issued from Golden
 * Cove and Zen 3 on, five from Sunny Cove on; loops rarely reach more than five. */
double kernel_cycles(const kernel_cost *cost, const ir_target *target) {
  bool wide = target->vector_bytes >= 64;
  double alu = (cost->unit[KERNEL_ALU] + cost->unit[KERNEL_SHUFFLE]) / (wide ? 2 : 3);
  double busiest = fmax(alu, cost->unit[KERNEL_SHUFFLE]);
  busiest = fmax(busiest, cost->unit[KERNEL_FLOAT] / 2);
  busiest = fmax(busiest, cost->unit[KERNEL_LOAD] / 2);
  busiest = fmax(busiest, cost->unit[KERNEL_STORE] / (wide ? 1 : 2));
  busiest = fmax(busiest, cost->unit[KERNEL_DIVIDER]);
  return fmax(busiest, kernel_instructions(cost) / 5);
}

static kernel_cost alu(double count, double latency) {
  return (kernel_cost){.unit = {[KERNEL_ALU] = count}, .latency = latency};
}

static kernel_cost times(kernel_cost c, double count) {
  for (int i = 0; i < KERNEL_UNITS; i++) c.unit[i] *= count;
  return c;
}

static kernel_cost both(kernel_cost a, kernel_cost b) {
  kernel_add(&a, &b, 1);
  a.latency += b.latency;
  return a;
}

/* Rounding an f32 to a narrow float: see cg_round_narrow. */
static kernel_cost round_cost(ir_dtype dtype, const ir_target *target) {
  if (dtype == IR_BF16) return alu(9, 9);
  if (dtype != IR_F16) return (kernel_cost){0};
  return target->has_f16c ? (kernel_cost){.unit = {[KERNEL_ALU] = 2, [KERNEL_SHUFFLE] = 2}, .latency = 11}
                          : alu(14, 22);
}

kernel_cost kernel_storage_cost(ir_dtype dtype, uint32_t width, const ir_target *target) {
  double registers = kernel_registers(width, kernel_register_bytes(dtype), target);
  if (dtype == IR_BOOL) return alu(registers, MOVE_CYCLES);
  if (dtype == IR_BF16)
    return (kernel_cost){.unit = {[KERNEL_ALU] = registers, [KERNEL_SHUFFLE] = registers}, .latency = 4};
  if (dtype != IR_F16) return (kernel_cost){0};
  return target->has_f16c
             ? (kernel_cost){.unit = {[KERNEL_ALU] = registers, [KERNEL_SHUFFLE] = registers}, .latency = 5}
             : alu(12 * registers, 16);
}

/* Of a register. The divider takes the elements of 16 bytes at a time: f32 in 2.5 cycles (scalars 3), f64 in
 * four; square roots take about as long. */
static kernel_cost divide_cost(bool wide, uint32_t width, int bytes, const ir_target *target) {
  double held = fmin((double)width * bytes, target->vector_bytes);
  double busy = width == 1 ? 3 + wide : held / 16 * (wide ? 4 : 2.5);
  kernel_cost c = alu(held > 32 ? DIVISION_INSTRUCTIONS : 1, wide ? 14 : 11);
  c.unit[KERNEL_DIVIDER] = fmax(busy, 3);
  return c;
}

/* Of a register of integers: products. */
static kernel_cost product_cost(int bytes, uint32_t width) {
  if (width == 1) return alu(1, 3);
  switch (bytes) {
  case 1: return (kernel_cost){.unit = {[KERNEL_ALU] = 5, [KERNEL_SHUFFLE] = 2}, .latency = 10};
  case 2: return alu(1, PRODUCT_CYCLES);
  case 4: return alu(2, 2 * PRODUCT_CYCLES);
  default: return alu(3, 3 * PRODUCT_CYCLES);
  }
}

/* Of all elements: integer quotients and remainders by what is no constant. Vectors of up to 32 bits are
 * divided as floats, others element by element. */
static kernel_cost quotient_cost(int bytes, uint32_t width, const ir_target *target) {
  if (width == 1)
    return (kernel_cost){.unit = {[KERNEL_ALU] = 8, [KERNEL_DIVIDER] = bytes == 8 ? 10 : 6},
                         .latency = bytes == 8 ? 22 : 18};
  if (bytes == 8) {
    kernel_cost c = {
        .unit = {[KERNEL_ALU] = 6.0 * width, [KERNEL_SHUFFLE] = 2.0 * width, [KERNEL_DIVIDER] = 10.0 * width},
        .latency = 10.0 * width};
    return c;
  }
  bool wide = bytes == 4;
  double registers = kernel_registers(width, wide ? 8 : 4, target);
  kernel_cost c = both(divide_cost(wide, width, wide ? 8 : 4, target), alu(6, 12));
  return both(times(c, registers), alu(10 * kernel_registers(width, bytes, target), 8));
}

/* Quotients by constants are products of twice as many digits. */
static kernel_cost constant_quotient_cost(int64_t by, int bytes, uint32_t width, const ir_target *target) {
  double registers = kernel_registers(width, bytes, target);
  if (by > 0 && (by & (by - 1)) == 0) return alu(registers, INTEGER_CYCLES);
  if (width == 1) return alu(4, 6);
  if (bytes == 8) return times(both(product_cost(8, width), alu(8, 8)), 3 * registers);
  kernel_cost c = {.unit = {[KERNEL_ALU] = 6, [KERNEL_SHUFFLE] = 2}, .latency = 12};
  return times(c, registers);
}

static bool is_power_shift(const ir_graph *g, const ir_node *n) { return ir_is_const(g, n->src[1], NULL); }

/* Of all elements. */
static kernel_cost cast_cost(const ir_graph *g, const ir_node *n, uint32_t width, const ir_target *target) {
  ir_dtype to = (ir_dtype)n->dtype, from = ir_dtype_of(g, n->src[0]);
  int a = kernel_register_bytes(from), b = kernel_register_bytes(to), larger = a > b ? a : b;
  double registers = kernel_registers(width, larger, target);
  if (from == to) return (kernel_cost){0};
  if (from == IR_BOOL || to == IR_BOOL) return alu(registers, MOVE_CYCLES);
  if (ir_is_float(from) && !ir_is_float(to)) /* saturates */
    return alu((a == 8 || b == 8 ? 9 : 7) * registers, 16);
  kernel_cost c = alu(registers, ARITHMETIC_CYCLES);
  if (a != b && width > 1) c.unit[KERNEL_SHUFFLE] = registers, c.latency += MOVE_CYCLES;
  if (!ir_is_float(from) && ir_is_float(to) && a == 8 && b < 8) kernel_add(&c, &c, 3);
  return ir_is_float(to) ? both(c, times(round_cost(to, target), kernel_registers(width, b, target))) : c;
}

/* NaN and the signs of zeros take a comparison and two selections more, unless one operand is a number. */
static kernel_cost extremum_cost(const ir_graph *g, const ir_node *n) {
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (ir_op_of(g, n->src[i]) == IR_OP_CONST)
      return alu(ir_const_value(g, n->src[i]).f != 0 ? 1 : 2, 2 * ARITHMETIC_CYCLES);
  return alu(4, 3 * ARITHMETIC_CYCLES);
}

static kernel_cost float_cost(const ir_graph *g, const ir_node *n, uint32_t width, const ir_target *target) {
  ir_dtype dtype = (ir_dtype)n->dtype;
  switch ((int)n->op) {
  case IR_OP_NEG:
  case IR_OP_ABS: return alu(1, INTEGER_CYCLES);
  case IR_OP_MIN:
  case IR_OP_MAX: return extremum_cost(g, n);
  case IR_OP_DIV:
  case IR_OP_SQRT:
    return both(divide_cost(dtype == IR_F64, width, kernel_register_bytes(dtype), target),
                round_cost(dtype, target));
  case IR_OP_FLOOR:
  case IR_OP_CEIL:
  case IR_OP_TRUNC:
  case IR_OP_ROUND: return alu(2, 2 * ARITHMETIC_CYCLES);
  default: {
    kernel_cost one = alu(1, ARITHMETIC_CYCLES);
    one.unit[KERNEL_FLOAT] = 1;
    return both(one, round_cost(dtype, target));
  }
  }
}

static kernel_cost integer_cost(const ir_graph *g, const ir_node *n, uint32_t width) {
  int bytes = kernel_register_bytes((ir_dtype)n->dtype);
  switch ((int)n->op) {
  case IR_OP_MUL: return product_cost(bytes, width);
  case IR_OP_DOT2:
  case IR_OP_DOT4: return alu(1, PRODUCT_CYCLES);
  case IR_OP_SHL:
  case IR_OP_SHR:
    if (bytes == 1 && width > 1) return alu(is_power_shift(g, n) ? 2 : 8, 4);
    return is_power_shift(g, n) ? alu(1, INTEGER_CYCLES) : alu(4, 4);
  case IR_OP_MIN:
  case IR_OP_MAX: return alu(bytes == 8 || width == 1 ? 2 : 1, 2 * INTEGER_CYCLES);
  default: return alu(1, INTEGER_CYCLES);
  }
}

/* A shuffle and an operation in each step; the steps double. */
static kernel_cost prefix_cost(const ir_graph *g, const ir_node *n, uint32_t width, const ir_target *target) {
  ir_node step = *n;
  step.op = (uint8_t)ir_arg_int(n);
  kernel_cost one = ir_is_float((ir_dtype)n->dtype) ? float_cost(g, &step, width, target)
                                                    : integer_cost(g, &step, width),
              all = {0};
  one.unit[KERNEL_SHUFFLE] += 1;
  one.latency += MOVE_CYCLES;
  for (uint32_t by = 1; by < width; by *= 2) all = both(all, one);
  return times(all, kernel_registers(width, kernel_register_bytes((ir_dtype)n->dtype), target));
}

kernel_cost kernel_cost_of(const ir_graph *g, ir_ref ref, uint32_t width, const ir_target *target) {
  const ir_node *n = ir_get(g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype, from = n->nsrc ? ir_dtype_of(g, n->src[0]) : dtype;
  double registers = kernel_registers(width, kernel_register_bytes(dtype), target);
  int64_t by;
  switch ((int)n->op) {
  case IR_OP_BITCAST: return (kernel_cost){0};
  case IR_OP_CAST: return cast_cost(g, n, width, target);
  case IR_OP_WHERE: return alu(registers, MOVE_CYCLES);
  case IR_OP_PREFIX: return prefix_cost(g, n, width, target);
  case IR_OP_RARE: return alu(registers + 1, 0); /* the test; its branch is predicted */
  case IR_OP_BOUND: return alu(6 * kernel_registers(width, kernel_register_bytes(from), target), 6);
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
    if (ir_is_float(dtype)) break;
    if (ir_is_const(g, n->src[1], &by))
      return constant_quotient_cost(by, kernel_register_bytes(dtype), width, target);
    return quotient_cost(kernel_register_bytes(dtype), width, target);
  default: break;
  }
  if (ir_ops[n->op].cls == IR_CLASS_COMPARE) {
    registers = kernel_registers(width, kernel_register_bytes(from), target);
    return alu(registers, MOVE_CYCLES);
  }
  kernel_cost one = ir_is_float(dtype) ? float_cost(g, n, width, target) : integer_cost(g, n, width);
  if (n->nsrc > 2 && n->op != IR_OP_FMA && n->op != IR_OP_FMA2)
    registers *= n->nsrc - 1; /* sums and products of indices */
  return times(one, registers);
}
