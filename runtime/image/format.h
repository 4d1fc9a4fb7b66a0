/* The layout of an image, shared by the linker that writes it and the code that reads it. Little-endian
 * fields. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_FORMAT_H
#define VIEWFOLD_RUNTIME_IMAGE_FORMAT_H

#include "codegen/emit/blocks.h"

#define RT_IMAGE_MAGIC 0x366567616d696676u /* "vfimage6" */

typedef struct rt_image_head {
  uint64_t magic;
  uint64_t size; /* of the whole image */
  uint32_t entries;
  uint32_t code; /* offset of the first byte after the table and its names */
} rt_image_head;

/* Follows the head, `entries` times; then the names, each ending in NUL. */
typedef struct rt_image_row {
  uint32_t name; /* offset of the name in the image */
  uint32_t offset, size;
  uint32_t in_place; /* as in rt_terms */
  uint64_t scratch;
  uint32_t checks;
  cg_uses uses;
  uint32_t zero; /* the size is a multiple of 8 */
} rt_image_row;

#endif
