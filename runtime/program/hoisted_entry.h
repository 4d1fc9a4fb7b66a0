/* What hoisted kernels have computed, as entries of the cache on disk (kind "packed"), under the digest of
 * the recipe. An entry is mapped by all programs of all processes that need it, instead of being computed. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_HOISTED_ENTRY_H
#define VIEWFOLD_RUNTIME_PROGRAM_HOISTED_ENTRY_H

#include "runtime/runtime.h"

#include "runtime/cache/digest.h"
#include "runtime/cache/disk.h"

/* The least work (rt_split: bytes and scalar operations) of computing an array for which it is looked up.
 * Finding an entry and mapping it takes 8 to 10 us. So does copying 64 KiB, which are read and written, into
 * another order, at 15 GB/s; most orders take longer. */
enum { RT_STORE_WORK = 128 << 10 };

/* The least work for each byte of constants in memory, which processes digest before they can look it up. Of
 * ResNet-18's 47 MB of weights that takes 11 ms, copying them in the order of tiles 15, with 2 to 3 for each
 * byte, and storing the copies 50. */
enum { RT_STORE_DIGESTED = 8 };

/* Maps the array of that recipe and size. False: there is none, or no cache. */
bool rt_hoisted_map(rt_context *context, rt_digest recipe, size_t size, rt_disk_mapping *out);
/* Stores the array, and maps what has been stored. */
bool rt_hoisted_store(rt_context *context, rt_digest recipe, const void *bytes, size_t size,
                      rt_disk_mapping *out);
/* May one program store arrays of so many bytes in all? */
bool rt_hoisted_fit(rt_context *context, uint64_t bytes);

#endif
