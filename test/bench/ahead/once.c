/* A program that calls the model once. Without MODEL, an empty one. */
#ifdef MODEL
#include "arrays.h"
#endif

int main(void) {
#ifdef MODEL
  return call();
#else
  return 0;
#endif
}
