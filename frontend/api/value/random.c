/* Builders of random numbers. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

static bool draw_of(fe_call *c, const char *who, vf_value seed, int rank, const int64_t *shape,
                    ir_ref *refs) {
  return fe_begin(c, who, &seed, 1) && fe_list(c, "the shape", rank, shape, refs);
}

typedef ir_ref (*draw_builder)(ir_graph *g, const op_draw *d, double a, double b);

static vf_value drawn(const char *who, draw_builder build, vf_value seed, vf_dtype dtype, int rank,
                      const int64_t *shape, double a, double b) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  if (!draw_of(&c, who, seed, rank, shape, refs)) return fe_end(&c, 0);
  op_draw d = {.dtype = (ir_dtype)dtype, .shape = refs, .rank = (size_t)rank, .seed = seed.id};
  return fe_end(&c, build(c.ir, &d, a, b));
}
vf_value vf_uniform(vf_value seed, vf_dtype dtype, int rank, const int64_t *shape, double low, double high) {
  return drawn("uniform", op_uniform, seed, dtype, rank, shape, low, high);
}
vf_value vf_normal(vf_value seed, vf_dtype dtype, int rank, const int64_t *shape, double mean, double std) {
  return drawn("normal", op_normal, seed, dtype, rank, shape, mean, std);
}

vf_value vf_bernoulli(vf_value seed, int rank, const int64_t *shape, double p) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  if (!draw_of(&c, "bernoulli", seed, rank, shape, refs)) return fe_end(&c, 0);
  op_draw d = {.shape = refs, .rank = (size_t)rank, .seed = seed.id};
  return fe_end(&c, op_bernoulli(c.ir, &d, p));
}

int vf_threefry2x32(const vf_value key[2], const vf_value counter[2], vf_value words[2]) {
  fe_call c;
  bool good = fe_begin(&c, "threefry2x32", key, key ? 2 : 0);
  if (good && !counter) good = fe_refuse(&c, "the counter is NULL");
  good = good && fe_operands(&c, counter, 2);
  ir_ref made = good ? op_threefry(c.ir, (ir_ref[]){key[0].id, key[1].id, counter[0].id, counter[1].id}) : 0;
  return fe_end_all(&c, made, 2, words);
}
