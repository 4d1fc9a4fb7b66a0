/* Options of test programs, as `--name VALUE`, or `--name` alone for a bool. */
#ifndef VIEWFOLD_TEST_LIB_OPTIONS_H
#define VIEWFOLD_TEST_LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_kind {
  OPTION_FLAG,
  OPTION_INT,
  OPTION_LONG,
  OPTION_UNSIGNED,
  OPTION_DOUBLE,
  OPTION_TEXT
} option_kind;

typedef struct option {
  const char *name; /* with -- */
  option_kind kind;
  void *value;
} option;
/* The kind follows from the type of what `pointer` points to. */
#define OPTION(option_name, pointer)                                                                            \
  {                                                                                                             \
    option_name,                                                                                              \
   _Generic(pointer, bool *: OPTION_FLAG, int *: OPTION_INT, long *: OPTION_LONG,                            \
            unsigned long *: OPTION_UNSIGNED, double *: OPTION_DOUBLE, const char **: OPTION_TEXT),          \
   pointer \
  }

/* Stores the values of options, up to the first argument that does not begin with `-`, whose number it
 * returns. Ends the program with status 2, after saying why, on an option that is not in the list or has no
 * value. */
int options_read(int argc, char **argv, const option *list, size_t count);
#define OPTIONS_READ(argc, argv, ...)                                                                        \
  options_read(argc, argv, (const option[]){__VA_ARGS__},                                                    \
               sizeof((const option[]){__VA_ARGS__}) / sizeof(option))

#endif
