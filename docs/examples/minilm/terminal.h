/* Answers to what is being typed, on a terminal. */
#ifndef MINILM_TERMINAL_H
#define MINILM_TERMINAL_H

#include "library.h"

/* Until the end of the input, Ctrl-C or Ctrl-D. False after failing. */
bool terminal_search(library *library, int best, vf_error *error);

#endif
