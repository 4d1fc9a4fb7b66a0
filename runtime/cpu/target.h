/* The machine that code is generated for: read from the processor, written as text for cache keys, and
 * overridden by such text on request. Reads no environment variable. */
#ifndef VIEWFOLD_RUNTIME_CPU_TARGET_H
#define VIEWFOLD_RUNTIME_CPU_TARGET_H

#include "ir/target.h"

/* Describe the processor this process runs on. On x86-64 and AArch64 the features are those that both the
 * processor and the operating system support; elsewhere what every processor of the architecture has. */
void rt_target_host(ir_target *out);

/* The same. machine, which may be NULL, receives what tells this machine from others, as the key of what was
 * measured on it: the processor's signature, what it says of its last cache, its features. */
void rt_target_machine(ir_target *out, ir_text *machine);

/* One line with every field, in the order of the table in target_text.c, equal for equal targets: "triple=T
 * features=+a,+b vector_bytes=64 registers=32 fma=1 f16c=1 ... parts=2097152". */
void rt_target_text(const ir_target *target, ir_text *text);

/* Replace fields of *target by `name=value` settings separated by blanks, names and values as rt_target_text
 * writes them. A word without `=` is the name of a processor (processors.def), which sets all fields; a
 * triple of another architecture sets all to what every processor of that has. On failure *target is
 * unchanged. Code made for features that the processor lacks must not be run: see rt_target_runs_on. */
ir_status rt_target_override(ir_target *target, const char *settings, ir_error *error);

/* The same of the fields that measuring a machine may set. Results do not depend on them. */
ir_status rt_target_set_measured(ir_target *target, const char *settings, ir_error *error);
/* These fields, as settings. */
void rt_target_measured_text(const ir_target *target, ir_text *text);

/* Can the processor run code that is made for another description? IR_ERR_UNSUPPORTED names the first setting
 * that it cannot satisfy. */
ir_status rt_target_runs_on(const ir_target *made_for, const ir_target *processor, ir_error *error);

#endif
