#include "test/lib/onnx_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/onnx/onnx.h"
#include "test/lib/memory.h"

/* the wire format */

static void put(model_bytes *m, const void *bytes, size_t size) {
  if (size > MODEL_ROOM - m->size) abort();
  if (size) memcpy(m->bytes + m->size, bytes, size);
  m->size += size;
}

static void varint(model_bytes *m, uint64_t value) {
  do {
    uint8_t byte = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    put(m, &byte, 1);
    value >>= 7;
  } while (value);
}

void model_number(model_bytes *m, int field, uint64_t value) {
  varint(m, (uint64_t)field << 3);
  varint(m, value);
}

void model_bytes_field(model_bytes *m, int field, const void *bytes, size_t size) {
  varint(m, (uint64_t)field << 3 | 2);
  varint(m, size);
  put(m, bytes, size);
}

void model_text(model_bytes *m, int field, const char *text) {
  model_bytes_field(m, field, text, strlen(text));
}
void model_message(model_bytes *m, int field, const model_bytes *inner) {
  model_bytes_field(m, field, inner->bytes, inner->size);
}

static void real(model_bytes *m, int field, float value) {
  varint(m, (uint64_t)field << 3 | 5);
  put(m, &value, 4);
}

/* models */

enum { FLOAT = 1, INT64 = 7, BOOL = 9 };

/* Names separated by commas, up to a blank or the end; a name may be empty. */
static const char *names(model_bytes *m, int field, const char *at) {
  while (*at && *at != ' ') {
    size_t length = strcspn(at, ", ");
    model_bytes_field(m, field, at, length);
    at += length;
    if (*at == ',') at++;
  }
  return at;
}

static const char *attribute(model_bytes *node, const char *at) {
  static model_bytes a;
  size_t length = strcspn(at, "=");
  a.size = 0;
  model_bytes_field(&a, 1, at, length);
  at += length + 1;
  size_t end = strcspn(at, " ");
  if (*at == '\'') model_bytes_field(&a, 4, at + 1, end - 2), model_number(&a, 20, 3);
  else if (*at == '[') {
    char *next = (char *)at;
    while (*next != ']') model_number(&a, 8, (uint64_t)strtoll(next + 1, &next, 10));
    model_number(&a, 20, 7);
  } else if (memchr(at, '.', end)) real(&a, 2, strtof(at, NULL)), model_number(&a, 20, 1);
  else model_number(&a, 3, (uint64_t)strtoll(at, NULL, 10)), model_number(&a, 20, 2);
  model_message(node, 5, &a);
  return at + end;
}

static void put_body(model_bytes *node, const char *name, const model_bytes *body) {
  static model_bytes a;
  a.size = 0;
  model_text(&a, 1, name);
  model_message(&a, 6, body);
  model_number(&a, 20, 5);
  model_message(node, 5, &a);
}

static void put_node(model_bytes *graph, int field, const char *text, const char *const *names_of,
                     const model_bytes *const *bodies, int count) {
  static model_bytes node;
  size_t length = strcspn(text, " ");
  node.size = 0;
  model_bytes_field(&node, 4, text, length);
  text += length + (text[length] == ' ');
  if (*text != '-') text = names(&node, 1, text) + 1;
  text = names(&node, 2, text + 3); /* behind "-> " */
  while (*text == ' ') text = attribute(&node, text + 1);
  for (int i = 0; i < count; i++) put_body(&node, names_of[i], bodies[i]);
  model_message(graph, field, &node);
}

void model_node(model_bytes *graph, int field, const char *text, const char *name, const model_bytes *body) {
  put_node(graph, field, text, &name, &body, body != NULL);
}

void model_choice(model_bytes *graph, const char *text, const model_bytes *yes, const model_bytes *no) {
  put_node(graph, 1, text, (const char *const[]){"then_branch", "else_branch"},
           (const model_bytes *const[]){yes, no}, 2);
}

static void port(model_bytes *graph, int field, const char *text) {
  static model_bytes info, type, tensor, shape, dim, element, outer;
  info.size = type.size = tensor.size = shape.size = element.size = outer.size = 0;
  const int container = strncmp(text, "sequence ", 9) == 0 ? 4 : strncmp(text, "optional ", 9) == 0 ? 9 : 0;
  if (container) text += 9;
  int dtype = strncmp(text, "i64 ", 4) == 0 ? INT64 : strncmp(text, "bool ", 5) == 0 ? BOOL : FLOAT;
  if (dtype != FLOAT) text = strchr(text, ' ') + 1;
  size_t length = strcspn(text, "[");
  model_bytes_field(&info, 1, text, length);
  for (const char *at = text + length + 1; *at && *at != ']'; at += *at == ',') {
    size_t end = strcspn(at, ",]");
    dim.size = 0;
    if (*at >= '0' && *at <= '9') model_number(&dim, 1, (uint64_t)strtoll(at, NULL, 10));
    else model_bytes_field(&dim, 2, at, end);
    model_message(&shape, 1, &dim);
    at += end;
  }
  model_number(&tensor, 1, (uint64_t)dtype);
  model_message(&tensor, 2, &shape);
  model_message(&type, 1, &tensor);
  model_message(&element, 1, &type);
  if (container) model_message(&outer, container, &element);
  model_message(&info, 2, container ? &outer : &type);
  model_message(graph, field, &info);
}

void model_input(model_bytes *graph, const char *text) { port(graph, 11, text); }
void model_output(model_bytes *graph, const char *text) { port(graph, 12, text); }

void model_floats(model_bytes *graph, const char *name, int rank, const int64_t *dims,
                  const float *elements) {
  static model_bytes t;
  size_t count = 1;
  t.size = 0;
  for (int i = 0; i < rank; i++) {
    model_number(&t, 1, (uint64_t)dims[i]);
    count *= (size_t)dims[i];
  }
  model_number(&t, 2, FLOAT);
  model_text(&t, 8, name);
  model_bytes_field(&t, 9, elements, count * sizeof *elements);
  model_message(graph, 5, &t);
}

void model_integers(model_bytes *graph, const char *name, int64_t count, const int64_t *elements) {
  static model_bytes t, packed;
  t.size = packed.size = 0;
  for (int64_t i = 0; i < count; i++) varint(&packed, (uint64_t)elements[i]);
  model_number(&t, 1, (uint64_t)count);
  model_number(&t, 2, INT64);
  model_message(&t, 7, &packed);
  model_text(&t, 8, name);
  model_message(graph, 5, &t);
}

/* A tensor of that type of ONNX, in raw bytes. */
static void raw_tensor(model_bytes *graph, const char *name, int type, int64_t size, const void *bytes,
                       size_t count) {
  static model_bytes t;
  t.size = 0;
  model_number(&t, 1, (uint64_t)size);
  model_number(&t, 2, (uint64_t)type);
  model_text(&t, 8, name);
  model_bytes_field(&t, 9, bytes, count);
  model_message(graph, 5, &t);
}

void model_whole(model_bytes *out, const model_bytes *graph, const model_bytes *function) {
  static model_bytes opset;
  out->size = opset.size = 0;
  model_text(&opset, 1, "");
  model_number(&opset, 2, 19);
  model_number(out, 1, 8);
  model_message(out, 7, graph);
  model_message(out, 8, &opset);
  if (function) model_message(out, 25, function);
}

/* samples */

static const float numbers[64] = {0.5f, -1, 2, 0.25f, 3, -0.5f, 1, 0.125f};

static void sample_layers(model_bytes *g) {
  model_input(g, "x[n,4]");
  model_floats(g, "w", 2, (const int64_t[]){4, 4}, numbers);
  model_floats(g, "b", 1, (const int64_t[]){4}, numbers);
  model_node(g, 1, "Gemm x,w,b -> h transB=1 alpha=0.5", NULL, NULL);
  model_node(g, 1, "LayerNormalization h,b,b -> l axis=-1", NULL, NULL);
  model_node(g, 1, "Softmax l -> s axis=-1", NULL, NULL);
  model_node(g, 1, "Einsum s,w -> y equation='ij,jk->ik'", NULL, NULL);
  model_output(g, "y[n,4]");
}

static void sample_shapes(model_bytes *g) {
  model_input(g, "x[n,2,6]");
  model_integers(g, "one", 1, (const int64_t[]){1});
  model_integers(g, "three", 1, (const int64_t[]){3});
  model_integers(g, "columns", 1, (const int64_t[]){-1});
  model_node(g, 1, "Shape x -> s", NULL, NULL);
  model_node(g, 1, "Gather s,one -> d axis=0", NULL, NULL);
  model_node(g, 1, "Mul d,three -> k", NULL, NULL);
  model_node(g, 1, "Concat columns,k,one -> t axis=0", NULL, NULL);
  model_node(g, 1, "Reshape x,t -> r", NULL, NULL);
  model_node(g, 1, "Slice r,one,three,one -> c", NULL, NULL);
  model_node(g, 1, "Pad c,p -> y mode='reflect'", NULL, NULL);
  model_integers(g, "p", 6, (const int64_t[]){1, 0, 0, 0, 1, 0});
  model_output(g, "y[a,b,c]");
}

static void sample_windows(model_bytes *g) {
  model_input(g, "x[1,2,8,8]");
  model_floats(g, "w", 4, (const int64_t[]){2, 1, 3, 3}, numbers);
  model_floats(g, "scale", 1, (const int64_t[]){2}, numbers);
  model_node(g, 1, "Conv x,w -> c pads=[1,1,1,1] strides=[2,1] group=2", NULL, NULL);
  model_node(g, 1, "BatchNormalization c,scale,scale,scale,scale -> n epsilon=0.001", NULL, NULL);
  model_node(g, 1, "MaxPool n -> m,i kernel_shape=[2,2] ceil_mode=1", NULL, NULL);
  model_node(g, 1, "AveragePool m -> a kernel_shape=[2,2] auto_pad='SAME_UPPER'", NULL, NULL);
  model_node(g, 1, "Resize a,,,z -> y mode='linear'", NULL, NULL);
  model_integers(g, "z", 4, (const int64_t[]){1, 2, 5, 7});
  model_output(g, "y[1,2,5,7]");
}

static void sample_loop(model_bytes *g) {
  static model_bytes body;
  body.size = 0;
  model_input(&body, "i64 i[]");
  model_input(&body, "bool c[]");
  model_input(&body, "v[3]");
  model_node(&body, 1, "Identity c -> c2", NULL, NULL);
  model_node(&body, 1, "Add v,x -> v2", NULL, NULL);
  model_node(&body, 1, "Relu v2 -> out", NULL, NULL);
  model_output(&body, "bool c2[]");
  model_output(&body, "v2[3]");
  model_output(&body, "out[3]");
  model_input(g, "x[3]");
  model_node(g, 1, "Constant -> trips value_int=5", NULL, NULL);
  model_node(g, 1, "Loop trips,,x -> y,all", "body", &body);
  model_output(g, "y[3]");
  model_output(g, "all[5,3]");
}

static void sample_recurrent(model_bytes *g) {
  model_input(g, "x[t,2,3]");
  model_floats(g, "w", 3, (const int64_t[]){1, 8, 3}, numbers);
  model_floats(g, "r", 3, (const int64_t[]){1, 8, 2}, numbers);
  model_node(g, 1, "LSTM x,w,r -> y,h,c hidden_size=2", NULL, NULL);
  model_output(g, "y[t,1,2,2]");
  model_output(g, "h[1,2,2]");
}

static void sample_choice(model_bytes *g) {
  static model_bytes yes, no;
  yes.size = no.size = 0;
  model_node(&yes, 1, "Neg x -> a", NULL, NULL);
  model_output(&yes, "a[2]");
  model_node(&no, 1, "QuantizeLinear x,s -> q", NULL, NULL);
  model_node(&no, 1, "DequantizeLinear q,s -> b", NULL, NULL);
  model_output(&no, "b[2]");
  model_input(g, "x[2]");
  model_input(g, "bool p[]");
  model_floats(g, "s", 0, NULL, numbers);
  model_choice(g, "If p -> y", &yes, &no);
  model_output(g, "y[2]");
}

static void sample_indices(model_bytes *g) {
  model_input(g, "x[4,4]");
  model_input(g, "i64 i[4,2]");
  model_node(g, 1, "GatherElements x,i -> a axis=1", NULL, NULL);
  model_node(g, 1, "GatherND x,i -> b", NULL, NULL);
  model_node(g, 1, "ScatterElements x,i,a -> c axis=1 reduction='add'", NULL, NULL);
  model_node(g, 1, "TopK c,k -> v,at axis=-1", NULL, NULL);
  model_integers(g, "k", 1, (const int64_t[]){2});
  model_node(g, 1, "CumSum c,k0 -> y exclusive=1", NULL, NULL);
  model_integers(g, "k0", 1, (const int64_t[]){0});
  model_output(g, "y[4,4]");
  model_output(g, "v[4,2]");
  model_output(g, "b[4]");
}

static void sample_places(model_bytes *g) {
  model_input(g, "x[1,2,4,5]");
  model_input(g, "grid[1,2,3,2]");
  model_input(g, "i64 image[3]");
  model_floats(g, "rois", 2, (const int64_t[]){3, 4}, numbers);
  model_floats(g, "w", 4, (const int64_t[]){2, 2, 2, 2}, numbers);
  model_input(g, "offset[1,8,3,4]");
  model_node(g, 1, "GridSample x,grid -> a mode='bicubic' padding_mode='reflection'", NULL, NULL);
  model_node(g, 1, "RoiAlign x,rois,image -> b sampling_ratio=2 output_height=2 output_width=2", NULL, NULL);
  model_node(g, 1, "DeformConv x,w,offset -> c", NULL, NULL);
  model_node(g, 1, "Reshape x,flat -> d", NULL, NULL);
  model_node(g, 1, "Col2Im d,size,block -> e strides=[1,1]", NULL, NULL);
  model_integers(g, "flat", 3, (const int64_t[]){1, 10, 4});
  model_integers(g, "size", 2, (const int64_t[]){1, 8});
  model_integers(g, "block", 2, (const int64_t[]){1, 5});
  model_output(g, "a[1,2,2,3]");
  model_output(g, "b[3,2,2,2]");
  model_output(g, "c[1,2,3,4]");
  model_output(g, "e[1,2,1,8]");
}

static void sample_storage(model_bytes *g) {
  enum { FLOAT8 = 17, INT4 = 22 };
  model_input(g, "x[n]");
  model_floats(g, "s", 0, NULL, numbers);
  raw_tensor(g, "four", INT4, 7, "\x12\x34\xf6\x08", 4);
  raw_tensor(g, "eight", FLOAT8, 3, "\x12\x7f\xf6", 3);
  model_node(g, 1, "DequantizeLinear four,s -> a", NULL, NULL);
  model_node(g, 1, "Concat eight,eight -> both axis=0", NULL, NULL);
  model_node(g, 1, "Cast both -> b to=1", NULL, NULL);
  model_node(g, 1, "Cast x -> c to=19 saturate=0", NULL, NULL);
  model_node(g, 1, "Constant -> yes value_int=1", NULL, NULL);
  model_node(g, 1, "Dropout x,s,yes -> d seed=3", NULL, NULL);
  model_node(g, 1, "Multinomial m -> e sample_size=3 dtype=7", NULL, NULL);
  model_floats(g, "m", 2, (const int64_t[]){2, 3}, numbers);
  model_output(g, "a[7]");
  model_output(g, "b[6]");
  model_output(g, "i64 e[2,3]");
}

static void sample_sequences(model_bytes *g) {
  static model_bytes body, each;
  body.size = each.size = 0;
  model_input(&body, "i64 i[]");
  model_input(&body, "bool c[]");
  model_input(&body, "v[3]");
  model_node(&body, 1, "Identity c -> c2", NULL, NULL);
  model_node(&body, 1, "SequenceAt parts,i -> part", NULL, NULL);
  model_node(&body, 1, "SequenceInsert v,part -> v2", NULL, NULL);
  model_output(&body, "bool c2[]");
  model_output(&body, "v2[3]");
  model_input(&each, "e[2]");
  model_node(&each, 1, "Neg e -> e2", NULL, NULL);
  model_output(&each, "e2[2]");
  model_input(g, "x[6]");
  model_integers(g, "sizes", 3, (const int64_t[]){2, 2, 2});
  model_node(g, 1, "SplitToSequence x,sizes -> parts axis=0", NULL, NULL);
  model_node(g, 1, "SequenceLength parts -> count", NULL, NULL);
  model_node(g, 1, "SequenceEmpty -> none", NULL, NULL);
  model_node(g, 1, "Loop count,,none -> all", "body", &body);
  model_node(g, 1, "SequenceMap all -> mapped", "body", &each);
  model_node(g, 1, "ConcatFromSequence mapped -> y axis=0", NULL, NULL);
  model_output(g, "y[6]");
}

static void sample_function(model_bytes *g, model_bytes *f) {
  static model_bytes opset;
  opset.size = 0;
  model_text(f, 1, "Twice");
  model_text(f, 4, "a");
  model_text(f, 5, "b");
  model_node(f, 7, "Add a,a -> c", NULL, NULL);
  model_node(f, 7, "Sqrt c -> b", NULL, NULL);
  model_number(&opset, 2, 19);
  model_message(f, 9, &opset);
  model_input(g, "x[n]");
  model_node(g, 1, "Twice x -> h", NULL, NULL);
  model_node(g, 1, "Twice h -> y", NULL, NULL);
  model_output(g, "y[n]");
}

void model_sample(model_bytes *out, int number) {
  static void (*const samples[])(model_bytes *) = {
      sample_layers, sample_shapes,  sample_windows, sample_loop,    sample_recurrent,
      sample_choice, sample_indices, sample_places,  sample_storage, sample_sequences};
  static model_bytes graph, function;
  graph.size = function.size = 0;
  if (number < MODEL_SAMPLES - 1) samples[number](&graph);
  else sample_function(&graph, &function);
  model_whole(out, &graph, function.size ? &function : NULL);
}

/* the promises */

/* Bytes of memory that importing may take at most, of a file of `size`. */
static size_t most_memory(size_t size) { return ((size_t)64 << 20) + (size_t)4096 * size; }

bool model_check(const uint8_t *bytes, size_t size) {
  test_memory memory = {0};
  const vf_options options = {.size = sizeof options,
                              .allocator = test_memory_hook,
                              .allocator_user = &memory,
                              .threads = 1,
                              .flags = VF_NO_DISK};
  vf_context *context = vf_context_create(&options, NULL);
  ir_error error = {0};
  if (!context) abort();
  vf_graph *graph = onnx_import_memory(context, "model.onnx", bytes, size, NULL, &error);
  bool accepted = graph != NULL;
  if (!accepted && (!error.status || !*error.text || strncmp(error.text, "model.onnx", 10))) {
    fprintf(stderr, "refused with status %d: '%s'\n", error.status, error.text);
    abort();
  }
  if (error.status == IR_ERR_INTERNAL || error.status == IR_ERR_MEMORY || memory.peak > most_memory(size)) {
    fprintf(stderr, "status %d, %zu bytes of memory for a file of %zu: %s\n", error.status,
            (size_t)memory.peak, size, error.text);
    abort();
  }
  vf_graph_destroy(graph);
  vf_context_destroy(context);
  if (memory.live || memory.wrong_sizes) {
    fprintf(stderr, "%zu bytes are left, %d wrong sizes\n", (size_t)memory.live, (int)memory.wrong_sizes);
    abort();
  }
  return accepted;
}
