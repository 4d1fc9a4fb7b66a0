#include "test/lib/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void store(const option *o, const char *text) {
  switch (o->kind) {
  case OPTION_FLAG: *(bool *)o->value = true; break;
  case OPTION_INT: *(int *)o->value = (int)strtol(text, NULL, 0); break;
  case OPTION_LONG: *(long *)o->value = strtol(text, NULL, 0); break;
  case OPTION_UNSIGNED: *(unsigned long *)o->value = strtoul(text, NULL, 0); break;
  case OPTION_DOUBLE: *(double *)o->value = strtod(text, NULL); break;
  case OPTION_TEXT: *(const char **)o->value = text; break;
  }
}

int options_read(int argc, char **argv, const option *list, size_t count) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const option *o = list;
    while (o < list + count && strcmp(o->name, argv[i]) != 0) o++;
    bool known = o < list + count, alone = known && o->kind == OPTION_FLAG;
    if (!known || (!alone && i + 1 == argc)) {
      fprintf(stderr, known ? "%s: %s needs a value\n" : "%s: what is %s?\n", argv[0], argv[i]);
      exit(2);
    }
    store(o, alone ? NULL : argv[++i]);
  }
  return i;
}
