/* Sharding rules and rules for partial sums, on random graphs: a node that is computed in shards along any
 * factor of its rule has the same value as when it is computed whole (test/lib/sharded.h).
 *
 *   prop_sharding --seed S --count N
 *   prop_sharding --case SEED        one graph again, by the seed in its report
 *
 * At the end, every operation that the rules do not let commute with a sum (it cannot be applied to partial
 * sums) must have been seen not to: for some operands op(a + b) differed from op(a) + op(b). */
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/sharded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENOUGH = 400 }; /* tries after which a counterexample should have been found */

/* Operations that are linear in these operands and could be applied to partial sums, but have no such rule.
 * Operands are bits of `mask`. */
static const struct {
  ir_op op;
  uint32_t mask;
} cautious[] = {
    {IR_OP_SHL, 1},                             /* times a power of two */
    {IR_OP_WHERE, 6},                           /* both values; the condition is the same for all summands */
    {IR_OP_SCATTER, 5}, {IR_OP_SCATTER_ADD, 5}, /* data and updates */
    {IR_OP_ASSIGN, 5},                          /* likewise */
    {IR_OP_FMA, 5},     {IR_OP_FMA, 6},         /* a factor and the addend */
};

static bool is_cautious(int op, uint32_t mask) {
  for (size_t i = 0; i < sizeof cautious / sizeof *cautious; i++)
    if (cautious[i].op == (ir_op)op && cautious[i].mask == mask) return true;
  return false;
}

static bool one_case(sharded *s, uint64_t seed) {
  random_graph r;
  int64_t sizes[RANDOM_VARS];
  ir_var_value vars[RANDOM_VARS];
  ir_binding_input bound[RANDOM_INPUTS];
  ir_ref roots[RANDOM_VALUES];
  random_graph_make(&r, seed, 5);
  random_graph_sizes(&r, sizes);
  for (int i = 0; i < r.var_count; i++) vars[i] = (ir_var_value){r.vars[i], sizes[i]};
  for (int i = 0; i < r.input_count; i++) {
    size_t bytes;
    bound[i] = (ir_binding_input){r.inputs[i], random_graph_data(&r, r.inputs[i], sizes, &bytes)};
  }
  for (int i = 0; i < r.value_count; i++) roots[i] = r.values[i].ref;
  s->g = &r.g, s->inputs = bound, s->vars = vars;
  s->input_count = (size_t)r.input_count, s->var_count = (size_t)r.var_count;
  s->shards = 2 + (int)(seed % 3);
  bool good = sharded_check(s, roots, (size_t)r.value_count);
  if (!good) fprintf(stderr, "%s\n(prop_sharding --case %" PRIu64 ")\n", s->what, seed);
  for (int i = 0; i < r.input_count; i++) free((void *)bound[i].data);
  ir_graph_free(&r.g);
  return good;
}

static long unfounded(const sharded *s) {
  long count = 0;
  for (int op = 0; op < IR_OP_COUNT; op++)
    for (uint32_t mask = 1; mask < SHARDED_MASKS; mask++) {
      bool found = s->refuted[op][mask] > 0;
      if (s->tried[op][mask] < ENOUGH || found != is_cautious(op, mask)) continue;
      fprintf(stderr, "%s: operands %u may %swait for a sum, though %ld of %ld tries speak against it\n",
              ir_ops[op].text, mask, found ? "" : "not ", s->refuted[op][mask], s->tried[op][mask]);
      count++;
    }
  return count;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 200);
  uint64_t seed = given.seed;
  long count = given.count, done = 0, failed = 0, no_value = 0;
  bool again = given.repeat;
  static sharded s;
  for (; done < count && failed < 5; done++) {
    uint64_t state = seed + (uint64_t)done * 0x10001;
    failed += !one_case(&s, again ? seed : random_next(&state));
    no_value += s.out_of_range;
  }
  if (!again) failed += unfounded(&s);
  printf("prop_sharding: %ld graphs, %ld without a value, %ld nodes, %ld factors, %ld of them contracted, "
         "%ld partial "
         "sums, %ld failed, seed %" PRIu64 "\n",
         done, no_value, s.nodes, s.factors, s.contracted, s.sums, failed, seed);
  return failed != 0;
}
