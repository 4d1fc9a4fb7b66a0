/* Sentences, their embeddings, and which of them are nearest to a text. */
#ifndef MINILM_LIBRARY_H
#define MINILM_LIBRARY_H

#include "encoder.h"
#include "lines.h"
#include "tokenizer.h"

typedef struct library {
  vf_context *context;
  vocabulary *vocabulary;
  encoder encoder;
  lines sentences;
  float *embeddings; /* of the sentences; behind them there is room for that of a query */
} library;

typedef struct answer {
  line sentence;
  float score; /* the cosine of the angle between the two embeddings */
} answer;

/* A folder with model.safetensors and vocab.txt, and a file whose lines are sentences; empty ones are left
 * out. False after failing, with the reason in the error; close it in any case. */
bool library_open(library *library, const char *model, const char *sentences, vf_error *error);
void library_close(library *library);

/* The sentences nearest to a text, the nearest first, into answers[room]; of equal ones the first of the file
 * comes first. How many; -1 after failing. */
int library_search(library *library, const char *text, size_t length, int room, answer *answers,
                   vf_error *error);

#endif
