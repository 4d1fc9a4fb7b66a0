/* Graphs that write through views: each way of writing, through each kind of view, once, again, in part, and
 * with reads around it. */
#ifndef VIEWFOLD_TEST_WRITE_CASES_H
#define VIEWFOLD_TEST_WRITE_CASES_H

#include <stdbool.h>
#include <stddef.h>

size_t write_case_count(void);
/* The text of a graph with parameters %a, %b and %c, f64[3,4], and one result. *positive: it is smooth where
 * all elements are positive and differ; otherwise where they differ. False where the operation takes no such
 * view. */
bool write_case(size_t number, char *text, size_t room, bool *positive);

#endif
