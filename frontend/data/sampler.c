/* The order in which examples are taken, batch by batch.
 *
 * A shuffled epoch is the order of random keys of the examples, drawn by the graphs' own generator: the
 * uniform numbers in f64 of the seed that threefry2x32(seed, epoch) gives. So it depends on the seed, the
 * number of the epoch and the number of examples alone. */
#include <string.h>

#include "data.h"

struct vf_sampler {
  vf_context *context;
  int64_t examples, batch, at; /* at: how many of this epoch have been taken */
  uint64_t seed, epoch;        /* epoch: how many have begun */
  vf_program *shuffle;         /* NULL: one after the other */
  int64_t *order;              /* of all examples; of one batch where it is not shuffled */
};

/* A program that makes an epoch's order of the seed's and the epoch's two words. */
static vf_program *compile_shuffle(vf_context *context, int64_t examples, vf_error *error) {
  vf_graph *g = vf_graph_create(context, "shuffle", error);
  if (!g) return NULL;
  static const char *const names[] = {"seed_low", "seed_high", "epoch_low", "epoch_high"};
  vf_value key[4], words[2];
  for (int i = 0; i < 4; i++) key[i] = (vf_input)(g, names[i], VF_U32, VF_ALL);
  (vf_threefry2x32)(key, key + 2, words);
  vf_value high = (vf_shl)((vf_cast)(words[1], VF_U64), (vf_integer)(g, 32));
  vf_value seed = (vf_bit_or)((vf_cast)(words[0], VF_U64), high);
  vf_value keys = (vf_uniform)(seed, VF_F64, 1, &examples, 0, 1);
  (vf_output)(g, "order", (vf_argsort)(keys, 0, false));
  vf_program *p = vf_compile(g, error);
  vf_graph_destroy(g);
  return p;
}

static vf_sampler *make(vf_context *context, int64_t examples, int64_t batch, int64_t room, vf_error *error) {
  fe_data_call c = {.who = "sampler"};
  if (!context) fe_data_refuse(&c, "the context is NULL");
  else if (examples < 1)
    fe_data_refuse(&c, "there are %lld examples; there is at least 1", (long long)examples);
  else if (batch < 1) fe_data_refuse(&c, "a batch has %lld examples; it has at least 1", (long long)batch);
  vf_sampler *s = c.error.status ? NULL : ir_alloc(&context->mem, sizeof *s);
  if (s) {
    *s = (vf_sampler){.context = context, .examples = examples, .batch = batch};
    fe_context_retain(context);
    s->order = (size_t)room <= SIZE_MAX / sizeof *s->order
                   ? ir_alloc(&context->mem, (size_t)room * sizeof *s->order)
                   : NULL;
  }
  if (!c.error.status && (!s || !s->order)) ir_fail(&c.error, IR_ERR_MEMORY, "sampler: out of memory");
  if (fe_data_report(&c, error) == VF_OK) return s;
  vf_sampler_destroy(s);
  return NULL;
}

vf_sampler *vf_sampler_create(vf_context *context, int64_t examples, int64_t batch, vf_error *error) {
  return make(context, examples, batch, batch < examples ? batch : examples, error);
}

vf_sampler *vf_shuffled_sampler_create(vf_context *context, int64_t examples, int64_t batch, uint64_t seed,
                                       vf_error *error) {
  vf_sampler *s = make(context, examples, batch, examples, error);
  if (!s) return NULL;
  s->seed = seed;
  s->shuffle = compile_shuffle(context, examples, error);
  if (s->shuffle) return s;
  vf_sampler_destroy(s);
  return NULL;
}

void vf_sampler_destroy(vf_sampler *s) {
  if (!s) return;
  int64_t room = s->shuffle || s->batch > s->examples ? s->examples : s->batch;
  vf_program_destroy(s->shuffle);
  vf_context *context = s->context;
  ir_free(&context->mem, s->order, s->order ? (size_t)room * sizeof *s->order : 0);
  ir_free(&context->mem, s, sizeof *s);
  fe_context_release(context);
}

/* The order of the epoch that begins. */
static bool shuffled(const vf_sampler *s, vf_error *error) {
  uint32_t words[] = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32), (uint32_t)s->epoch,
                      (uint32_t)(s->epoch >> 32)};
  const void *in[] = {&words[0], &words[1], &words[2], &words[3]};
  return vf_program_run(s->shuffle, in, (void *[]){s->order}, NULL, error) == VF_OK;
}

int64_t vf_sampler_next(vf_sampler *s, const int64_t **indices, vf_error *error) {
  fe_data_call c = {.who = "sampler_next"};
  if (!s || !indices) fe_data_refuse(&c, "%s is NULL", s ? "the place for the indices" : "the sampler");
  if (fe_data_report(&c, error) != VF_OK) return -1;
  *indices = s->order;
  if (s->at == s->examples) {
    s->at = 0;
    return 0;
  }
  if (s->at == 0 && s->shuffle && !shuffled(s, error)) return -1;
  if (s->at == 0) s->epoch++;
  int64_t left = s->examples - s->at, n = left < s->batch ? left : s->batch;
  if (s->shuffle) *indices = s->order + s->at;
  for (int64_t i = 0; i < n && !s->shuffle; i++) s->order[i] = s->at + i;
  s->at += n;
  return n;
}

int64_t vf_data_sample(vf_data_view *v, vf_sampler *s, vf_data_view *part, vf_error *error) {
  fe_data_call c = {.who = "data_sample", .view = v};
  int64_t count = v ? vf_data_sample_count(v) : -1;
  if (!v || !s || !part) fe_data_refuse(&c, "%s is NULL", !v ? "the view" : !s ? "the sampler" : "the part");
  else if (count >= 0 && count < s->examples)
    fe_data_refuse(&c, "the view has %lld examples, and the sampler takes %lld; a view has at least these",
                   (long long)count, (long long)s->examples);
  if (fe_data_report(&c, error) != VF_OK) return -1;
  const int64_t *indices;
  int64_t n = vf_sampler_next(s, &indices, error);
  if (n <= 0) return n;
  if (!s->shuffle) return vf_data_sub(v, s->at - n, s->at, part, error) ? n : -1;
  vf_tensor *which = vf_tensor_create(s->context, VF_I64, 1, &n, indices, error);
  bool good = which && vf_data_index(v, vf_tensor_value(which), part, error);
  vf_tensor_release(which);
  return good ? n : -1;
}
