/* The folder passes/layout. Layouts kept between kernels.
 *
 *   in      a lowered graph
 *   out     one whose images are stored with their channels last, where convolutions read them
 *   holds   every sum has its terms in the same order; sizes and the graph decide, not the machine */

/* Internal to layouts: which images have their channels last (image_groups.c), and how they are computed so
 * (channels_last.c). */
#ifndef VIEWFOLD_PASSES_LAYOUT_LAYOUT_H
#define VIEWFOLD_PASSES_LAYOUT_LAYOUT_H

#include "ir/cause.h"
#include "passes/patterns/constant_values.h"

/* A step of the pipeline, channels_last.c: stores images with their channels last. Returns the new TUPLE of
 * results; 0 after failing. */
ir_ref pass_channels_last(ir_graph *g, ir_ref results);

enum { LAYOUT_CHANNEL = 1 /* the axis of an image's channels, behind that of the batch */ };

/* Images, and the groups of those that have one layout. Arrays by node. */
typedef struct layout_groups {
  ir_graph *g;
  const ir_ref *live; /* the nodes of the graph, sources before their users */
  size_t count, nodes;
  ir_ref *image;    /* what a view or a reduction shows the channels of; an image: itself; 0: nothing */
  uint8_t *channel; /* the axis of it along which the channels are */
  ir_ref *group;    /* of an image: another one of its group, or itself */
  uint8_t *marks;
  pass_constant_values constants;
} layout_groups;

/* image_groups.c: finds them. False when memory is short. */
bool layout_find_groups(layout_groups *s);
void layout_free_groups(layout_groups *s);
/* Is it an image of a group that is better stored with its channels last? */
bool layout_is_last(const layout_groups *s, ir_ref node);
/* Of such an image: do others than elementwise operations read it, so that it lies in memory? */
bool layout_is_stored(const layout_groups *s, ir_ref node);

#endif
