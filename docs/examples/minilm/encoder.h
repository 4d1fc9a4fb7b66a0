/* A BERT encoder with mean pooling, as sentence-transformers runs it: tokens in, a unit vector out. */
#ifndef MINILM_ENCODER_H
#define MINILM_ENCODER_H

#include <stdbool.h>
#include <stdint.h>
#include <viewfold.h>

enum { ENCODER_LONGEST = 256 }; /* tokens that sentence-transformers gives the model at most */

typedef struct encoder {
  vf_program *program;
  int size;    /* numbers of an embedding */
  int longest; /* most tokens of a text, 2 to ENCODER_LONGEST */
} encoder;

/* Of the weights of a file, named as BertModel of transformers names them. False after failing. */
bool encoder_create(vf_context *context, const char *weights, encoder *out, vf_error *error);
void encoder_destroy(encoder *encoder);

/* The embedding of 1 to `longest` tokens: `size` numbers, of length 1. The product of two is the cosine of
 * the angle between them, 1 for texts of one meaning. False after failing. */
bool encoder_run(const encoder *encoder, const int32_t *tokens, int count, float *embedding, vf_error *error);

#endif
