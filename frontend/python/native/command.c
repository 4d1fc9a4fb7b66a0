/* The command `viewfold` as a function of the library of the Python package: `python -m viewfold` calls it,
 * in a process that does nothing else. */
#include "frontend/viewfold.h"

int main(int argc, char **argv);

/* The exit status of the command, of these words, of which the first is its name. */
VF_API int vf_command(int argc, char **argv);
int vf_command(int argc, char **argv) { return main(argc, argv); }
