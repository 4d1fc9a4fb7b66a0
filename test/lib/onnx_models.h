/* ONNX models made in memory, byte for byte as the format says: for tests of the importer. */
#ifndef VIEWFOLD_TEST_ONNX_MODELS_H
#define VIEWFOLD_TEST_ONNX_MODELS_H

#include "test/lib/mutations.h"

enum { MODEL_ROOM = MUTATION_ROOM };
typedef mutated model_bytes;

/* Fields of a message. */
void model_number(model_bytes *m, int field, uint64_t value);
void model_bytes_field(model_bytes *m, int field, const void *bytes, size_t size);
void model_text(model_bytes *m, int field, const char *text);
void model_message(model_bytes *m, int field, const model_bytes *inner);

/* A node of a graph, or of a function (field 7): "Gemm x,w,b -> y transB=1 alpha=0.5 perm=[1,0]
 * mode='linear'". body: a graph for the attribute called `attribute`; NULL: none. */
void model_node(model_bytes *graph, int field, const char *text, const char *attribute,
                const model_bytes *body);
void model_choice(model_bytes *graph, const char *text, const model_bytes *yes,
                  const model_bytes *no); /* If */
/* Inputs and outputs: f32 "x[n,3]", i64 "i64 x[2]", bool "bool x[]"; "sequence x[n]" of such tensors,
 * "optional x[n]", one or none. */
void model_input(model_bytes *graph, const char *text);
void model_output(model_bytes *graph, const char *text);
void model_floats(model_bytes *graph, const char *name, int rank, const int64_t *dims, const float *elements);
void model_integers(model_bytes *graph, const char *name, int64_t count, const int64_t *elements);
/* The whole, of operator set 19. functions: an encoded FunctionProto, or NULL. */
void model_whole(model_bytes *out, const model_bytes *graph, const model_bytes *function);

enum { MODEL_SAMPLES = 11 };
void model_sample(model_bytes *out, int number);

/* Imports a model of any contents and traps where the importer breaks a promise: a failure without a message,
 * memory beyond the file's size times a constant, memory that is left. True: it was accepted. */
bool model_check(const uint8_t *bytes, size_t size);

#endif
