/* The program viewfold-compile. */
#include "runtime/serve/serve.h"

int main(int argc, char **argv) { return serve_main(argc, argv, NULL); }
