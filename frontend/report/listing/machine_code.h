/* The folder frontend/report/listing. Machine code, counted.
 *
 *   in      a kernel
 *   out     what its code does in each loop, as text and JSON
 *   holds   counts are of the code that LLVM made, after all its passes */

/* What the machine code of a kernel does in each of its loops, counted in its listing (CG_LISTING). */
#ifndef VIEWFOLD_FRONTEND_REPORT_LISTING_MACHINE_CODE_H
#define VIEWFOLD_FRONTEND_REPORT_LISTING_MACHINE_CODE_H

#include "ir/ir.h"

enum { FE_MOST_LOOPS = 256 }; /* of one kernel [41 in the corpus]: the code of one of more is not counted */

/* Instructions, each of one kind but for those that read memory and compute: these are counted twice. */
typedef struct fe_instructions {
  int64_t integer; /* arithmetic and comparisons on general registers, addresses computed by one among them */
  int64_t vector;  /* on vector registers, without moves, loads and stores */
  int64_t moves;   /* between registers, and shuffles */
  int64_t loads, stores;
  int64_t constants; /* loads of constants: these are among the loads */
  int64_t spills;    /* loads and stores of registers that lie on the stack: these are among them, too */
} fe_instructions;

typedef struct fe_code_loop {
  int header;    /* number of the block at which it begins */
  int parent;    /* index of the loop around it; -1: none */
  bool shared;   /* threads share its iterations */
  int64_t trips; /* how often it runs each time; -1: not a number in the code */
  fe_instructions
      own; /* of one iteration, without the loops inside of it. Where it branches, of all branches */
  uint32_t general,
      vectors; /* sets of registers that it names, with the loops inside of it: bit i for each */
} fe_code_loop;

typedef struct fe_machine_code {
  fe_code_loop loop[FE_MOST_LOOPS]; /* as they begin in the code */
  int count;
  fe_instructions outside; /* of all loops */
} fe_machine_code;

/* Counts the instructions of one kernel for x86-64. False where it has more loops than FE_MOST_LOOPS. */
bool fe_count_code(const char *listing, fe_machine_code *out);

#endif
