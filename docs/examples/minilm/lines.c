#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
  *length = size >= 0 ? (size_t)size : 0;
  if (text && (fseek(file, 0, SEEK_SET) != 0 || fread(text, 1, *length, file) != *length))
    free(text), text = NULL;
  if (file) fclose(file);
  return text;
}

bool lines_read(const char *path, lines *out) {
  size_t length, most = 1;
  *out = (lines){read_file(path, &length), NULL, 0};
  for (size_t i = 0; i < length && out->file; i++) most += out->file[i] == '\n';
  if (out->file) out->line = malloc(most * sizeof *out->line);
  if (!out->line) return lines_free(out), false;
  for (const char *at = out->file, *end = at + length; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    size_t bytes = (size_t)(stop - at);
    if (bytes && at[bytes - 1] == '\r') bytes--;
    out->line[out->count++] = (line){at, bytes};
    at = stop + 1;
  }
  return true;
}

void lines_free(lines *lines) {
  free(lines->file), free(lines->line);
  *lines = (struct lines){NULL, NULL, 0};
}
