#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(vf_error *error, vf_status status, const char *path, const char *why) {
  error->status = status;
  snprintf(error->message, sizeof error->message, "%.900s: %s", path, why);
  return false;
}

/* The embedding of a text into the place of number `number`. */
static bool encode(library *l, line text, size_t number, vf_error *error) {
  int32_t tokens[ENCODER_LONGEST];
  int count = tokenize(l->vocabulary, text.text, text.length, l->encoder.longest, tokens);
  if (count == 0) return fail(error, VF_ERR_MEMORY, "tokenizing", "out of memory");
  return encoder_run(&l->encoder, tokens, count, l->embeddings + number * (size_t)l->encoder.size, error);
}

static void leave_out_empty(lines *lines) {
  size_t kept = 0;
  for (size_t i = 0; i < lines->count; i++)
    if (lines->line[i].length) lines->line[kept++] = lines->line[i];
  lines->count = kept;
}

bool library_open(library *l, const char *model, const char *sentences, vf_error *error) {
  char path[4096];
  memset(l, 0, sizeof *l);
  l->context = vf_context_create(NULL, error);
  if (!l->context) return false;
  snprintf(path, sizeof path, "%s/model.safetensors", model);
  if (!encoder_create(l->context, path, &l->encoder, error)) return false;
  snprintf(path, sizeof path, "%s/vocab.txt", model);
  l->vocabulary = vocabulary_read(path);
  if (!l->vocabulary) return fail(error, VF_ERR_IO, path, "no vocabulary with [UNK], [CLS] and [SEP]");
  if (!lines_read(sentences, &l->sentences)) return fail(error, VF_ERR_IO, sentences, "cannot be read");
  leave_out_empty(&l->sentences);
  size_t count = l->sentences.count;
  l->embeddings = malloc((count + 1) * (size_t)l->encoder.size * sizeof *l->embeddings);
  if (!l->embeddings) return fail(error, VF_ERR_MEMORY, sentences, "out of memory");
  for (size_t i = 0; i < count; i++)
    if (!encode(l, l->sentences.line[i], i, error)) return false;
  return true;
}

void library_close(library *l) {
  free(l->embeddings), lines_free(&l->sentences), vocabulary_free(l->vocabulary);
  encoder_destroy(&l->encoder), vf_context_destroy(l->context);
}

/* Put an answer into its place among the best, which are in order. */
static void insert(answer *best, int *count, int room, answer a) {
  int at = *count < room ? (*count)++ : room;
  for (; at > 0 && best[at - 1].score < a.score; at--)
    if (at < room) best[at] = best[at - 1];
  if (at < room) best[at] = a;
}

int library_search(library *l, const char *text, size_t length, int room, answer *answers, vf_error *error) {
  size_t size = (size_t)l->encoder.size;
  const float *query = l->embeddings + l->sentences.count * size;
  int count = 0;
  if (!encode(l, (line){text, length}, l->sentences.count, error)) return -1;
  for (size_t i = 0; i < l->sentences.count; i++) {
    float score = 0;
    for (size_t k = 0; k < size; k++) score += query[k] * l->embeddings[i * size + k];
    insert(answers, &count, room, (answer){l->sentences.line[i], score});
  }
  return count;
}
