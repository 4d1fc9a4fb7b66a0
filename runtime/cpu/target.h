/* The machine that code is generated for: read from the processor, written as text for cache keys, and
 * overridden by such text on request. Reads no environment variable. */
#ifndef VIEWFOLD_RUNTIME_CPU_TARGET_H
#define VIEWFOLD_RUNTIME_CPU_TARGET_H

#include "ir/target.h"

/* Describe the processor this process runs on. On x86-64 the features are those that both the processor and
 * the operating system support; elsewhere the feature list is empty and vectors are 16 bytes wide. */
ir_status rt_target_host(ir_target *out, ir_error *error);

/* One line with every field, in the order of the table in target.c, equal for equal targets: "triple=T
 * features=+a,+b vector_bytes=64 registers=32 fma=1 f16c=1 ... parts=2097152". */
void rt_target_text(const ir_target *target, ir_text *text);

/* Replace fields of *target by `name=value` settings separated by blanks, names and values as rt_target_text
 * writes them. On failure *target is unchanged. Code made for features that the processor lacks must not be
 * run. */
ir_status rt_target_override(ir_target *target, const char *settings, ir_error *error);

#endif
