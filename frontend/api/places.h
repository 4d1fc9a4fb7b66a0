/* What a user calls values, and where the calls are that record them: for messages. */
#ifndef VIEWFOLD_FRONTEND_API_PLACES_H
#define VIEWFOLD_FRONTEND_API_PLACES_H

#include "ir/ir.h"

/* Of a node: its name (1 + that of ir_name) and its place (file number, line); 0: not known. */
typedef struct fe_place {
  uint32_t name, place;
} fe_place;

typedef struct fe_place_file {
  const char *given; /* the caller's pointer, for comparison alone */
  const char *text;  /* a name of the graph */
} fe_place_file;

/* By ref, as far as any is known. */
typedef struct fe_places {
  fe_place *list;
  size_t count, cap;
  fe_place_file *files;
  size_t file_count, file_cap;
  const char *latest;     /* file that fe_places_put was given last, */
  uint32_t latest_number; /* and its number in a place */
} fe_places;
enum { FE_LINE_BITS = 20, FE_LINE_MOST = (1 << FE_LINE_BITS) - 1 };

/* Forgets everything. */
void fe_places_free(fe_places *places, const ir_mem *mem);
/* Note what is known about a node. Without memory nothing is noted: messages say less. */
void fe_places_name(fe_places *places, ir_graph *g, ir_ref ref, const char *name);
void fe_places_put_slowly(fe_places *places, ir_graph *g, ir_ref ref, const char *file, int line);
static inline void fe_places_put(fe_places *places, ir_graph *g, ir_ref ref, const char *file, int line) {
  if (ref >= places->count || file != places->latest || line > FE_LINE_MOST)
    fe_places_put_slowly(places, g, ref, file, line);
  else if (!places->list[ref].place) places->list[ref].place = places->latest_number | (uint32_t)line;
}
/* The node has been made anew: what its number stood for is gone. */
static inline void fe_places_forget(fe_places *places, ir_ref ref) {
  if (ref < places->count) places->list[ref] = (fe_place){0};
}
const char *fe_places_name_of(const fe_places *places, const ir_graph *g, ir_ref ref); /* NULL: none */

typedef struct fe_words {
  char text[200];
} fe_words;
/* "model.c:12"; "" where the place is not known. */
const char *fe_words_place(const fe_places *places, ir_ref ref, fe_words *out);
/* "%scores", "0.5", "f32[2,3] of model.c:12": the name, or what else tells the value from others. */
const char *fe_words_value(const fe_places *places, ir_graph *g, ir_ref ref, fe_words *out);

#endif
