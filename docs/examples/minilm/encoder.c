/* Everything is one graph, whose length is a variable: one program serves all texts. Weights are constants
 * that stay in the file, which is mapped. */
#include "encoder.h"

#include <stdio.h>

/* What the file of weights does not say (config.json and sentence_bert_config.json do). */
enum { HEAD = 32 };                  /* numbers of an attention head: 384 in 12 heads */
static const double epsilon = 1e-12; /* of the layer norms */

/* What is recorded, and from where */
typedef struct model {
  vf_graph *graph;
  vf_arrays *file;
  vf_value length; /* tokens */
  int64_t size;    /* of the hidden state of a token */
  char part[32];   /* with which names of weights begin */
} model;

/* The weight called PART.name.kind */
static vf_value weight(const model *m, const char *name, const char *kind) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s.%s.%s", m->part, name, kind);
  return vf_arrays_constant(m->graph, m->file, whole);
}

/* Each row of x times a matrix [results, operands], and a bias. */
static vf_value linear(const model *m, vf_value x, const char *name) {
  vf_value product = vf_matmul(x, vf_swap_axes(weight(m, name, "weight"), 0, 1));
  return vf_add(product, weight(m, name, "bias"));
}

/* It is stored: as an operand of the products that follow it would be computed anew for each block of their
 * results. */
static vf_value norm(const model *m, vf_value x, const char *name) {
  vf_value scale = weight(m, name, "weight"), bias = weight(m, name, "bias");
  return vf_stored(vf_layer_norm(x, scale, bias, -1, epsilon));
}

/* The hidden states [length, size] of the tokens, by word, place and kind of sentence, which is 0. */
static vf_value embed(model *m, vf_value tokens) {
  snprintf(m->part, sizeof m->part, "embeddings");
  vf_value zero = vf_integer(m->graph, 0), size = vf_integer(m->graph, m->size);
  vf_value words = weight(m, "word_embeddings", "weight");
  vf_value places = weight(m, "position_embeddings", "weight");
  vf_value kinds = weight(m, "token_type_embeddings", "weight");
  vf_value place = vf_shrink_sized(places, 4, (vf_value[]){zero, m->length, zero, size});
  vf_value sum = vf_add(vf_gather(words, tokens, 0, VF_GATHER_CHECK), vf_point(kinds, 0, 0));
  return norm(m, vf_add(sum, place), "LayerNorm");
}

/* [length, size] as [heads, length, HEAD] */
static vf_value in_heads(const model *m, vf_value x) {
  vf_value heads = vf_integer(m->graph, m->size / HEAD), head = vf_integer(m->graph, HEAD);
  return vf_permute(vf_reshape_sized(x, 3, (vf_value[]){m->length, heads, head}), VF_LIST(1, 0, 2));
}

static vf_value layer(model *m, vf_value x, int number) {
  snprintf(m->part, sizeof m->part, "encoder.layer.%d", number);
  vf_value query = in_heads(m, linear(m, x, "attention.self.query"));
  vf_value key = in_heads(m, linear(m, x, "attention.self.key"));
  vf_value value = in_heads(m, linear(m, x, "attention.self.value"));
  vf_value seen = vf_permute(vf_attention(query, key, value, (vf_value){0}, 0, false), VF_LIST(1, 0, 2));
  seen = vf_reshape_sized(seen, 2, (vf_value[]){m->length, vf_integer(m->graph, m->size)});
  x = norm(m, vf_add(x, linear(m, seen, "attention.output.dense")), "attention.output.LayerNorm");
  vf_value inner = vf_gelu(linear(m, x, "intermediate.dense"), false);
  return norm(m, vf_add(x, linear(m, inner, "output.dense")), "output.LayerNorm");
}

/* The mean of the hidden states, of length 1. A text is alone in its run, and none of its tokens is padding:
 * the mean under the mask is that of all. */
static vf_value pool(const model *m, vf_value x) {
  vf_value mean = vf_mean(x, VF_LIST(0), false);
  vf_value square = vf_sum(vf_square(mean), VF_ALL, false);
  return vf_div(mean, vf_max(vf_sqrt(square), vf_number(m->graph, 1e-12))); /* as torch's normalize */
}

/* How many layers the file has, and the sizes of the model; false where it is no BERT. */
static bool measure(model *m, int *layers, int *longest) {
  int64_t shape[VF_MAX_RANK];
  char name[64];
  size_t places = vf_arrays_find(m->file, "embeddings.position_embeddings.weight");
  if (vf_arrays_shape(m->file, places, shape) != 2 || shape[1] < HEAD || shape[1] % HEAD != 0) return false;
  *longest = shape[0] < ENCODER_LONGEST ? (int)shape[0] : ENCODER_LONGEST;
  m->size = shape[1];
  for (*layers = 0; *layers < 1000; ++*layers) {
    snprintf(name, sizeof name, "encoder.layer.%d.output.dense.weight", *layers);
    if (vf_arrays_find(m->file, name) == vf_arrays_count(m->file)) break;
  }
  return *longest >= 2;
}

static vf_program *compile(model *m, int layers, int longest, vf_error *error) {
  m->length = vf_variable(m->graph, "length", 1, longest, 1);
  vf_value x = embed(m, vf_input_sized(m->graph, "tokens", VF_I32, 1, &m->length));
  for (int i = 0; i < layers; i++) x = layer(m, x, i);
  vf_output(m->graph, "embedding", pool(m, x));
  return vf_compile(m->graph, error);
}

bool encoder_create(vf_context *context, const char *weights, encoder *e, vf_error *error) {
  int layers;
  model m = {vf_graph_create(context, "minilm", error), NULL, {0}, 0, ""};
  *e = (encoder){NULL, 0, 0};
  if (m.graph) m.file = vf_arrays_open(context, weights, error);
  if (m.file) {
    if (measure(&m, &layers, &e->longest)) {
      e->program = compile(&m, layers, e->longest, error);
      e->size = (int)m.size;
    } else {
      error->status = VF_ERR_INVALID;
      snprintf(error->message, sizeof error->message, "%s: not the weights of a BERT with heads of %d",
               weights, HEAD);
    }
  }
  vf_graph_destroy(m.graph), vf_arrays_close(m.file);
  return e->program != NULL;
}

void encoder_destroy(encoder *e) { vf_program_destroy(e->program); }

bool encoder_run(const encoder *e, const int32_t *tokens, int count, float *embedding, vf_error *error) {
  int64_t length = count;
  return vf_program_run(e->program, (const void *[]){tokens}, (void *[]){embedding}, &length, error) == VF_OK;
}
