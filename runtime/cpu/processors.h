/* Processors by name, as targets: what code for them may use, however it is made. */
#ifndef VIEWFOLD_RUNTIME_CPU_PROCESSORS_H
#define VIEWFOLD_RUNTIME_CPU_PROCESSORS_H

#include "ir/target.h"

/* The target of that name; false: there is none, and *out is unchanged. */
bool rt_processor_find(const char *name, size_t length, ir_target *out);
/* What every processor of the triple's architecture has; of an unknown one, what any may have. */
void rt_processor_of_triple(const char *triple, ir_target *out);
bool rt_is_other_architecture(const char *triple, const char *other);
/* The processor whose name differs in signs and capitals alone; NULL: there is none. */
const char *rt_processor_meant(const char *name, size_t length);
void rt_processors_text(ir_text *out); /* a line for each: its name, and what it is */
void rt_processor_names(ir_text *out); /* with commas between them */

#endif
