/* Files of lines. */
#ifndef MINILM_LINES_H
#define MINILM_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct line {
  const char *text; /* its end is not marked: only length says it */
  size_t length;    /* bytes, without the end of the line, \n or \r\n */
} line;

typedef struct lines {
  char *file;
  line *line;
  size_t count;
} lines;

/* False when the file cannot be read, or without memory; there is then nothing to free. */
bool lines_read(const char *path, lines *out);
void lines_free(lines *lines);

#endif
