/* Packs several images into one, so that a program's code is one mapping. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_BUNDLE_H
#define VIEWFOLD_RUNTIME_IMAGE_BUNDLE_H

#include "runtime/image/image.h"

/* Make an image whose entry i is the first entry of images[i]; it contains each image whole. IR_ERR_INVALID
 * when one of them is malformed or has no entry. */
ir_status rt_image_pack(const ir_mem *mem, const rt_flat *images, size_t count, rt_flat *out,
                        ir_error *error);

#endif
