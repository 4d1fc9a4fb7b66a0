/* Files of arrays made in memory, byte for byte as their formats say: for tests of the readers. */
#ifndef VIEWFOLD_TEST_ARRAY_FILES_H
#define VIEWFOLD_TEST_ARRAY_FILES_H

#include "test/lib/mutations.h"

enum { FILE_ROOM = MUTATION_ROOM };
typedef mutated file_bytes;

/* Append a little-endian number of `count` bytes; bytes; a string with its length in 8 bytes before it. */
void file_number(file_bytes *f, uint64_t value, int count);
void file_add(file_bytes *f, const void *bytes, size_t size);
void file_string(file_bytes *f, const char *text);

/* A safetensors file with this header and data. */
void file_safetensors(file_bytes *f, const char *header, const void *data, size_t size);
/* The head of a GGUF file: version, and numbers of arrays and of metadata. */
void file_gguf(file_bytes *f, uint32_t version, uint64_t arrays, uint64_t pairs);
/* A description of an array in one. */
void file_gguf_array(file_bytes *f, const char *name, int rank, const uint64_t *sizes, uint32_t type,
                     uint64_t offset);
void file_align(file_bytes *f, size_t to); /* zeros up to a multiple */

/* An archive: members, then its end. */
typedef struct file_member {
  const char *name;
  const void *bytes;
  size_t size;
  bool deflate;
} file_member;
void file_zip(file_bytes *f, const file_member *members, size_t count);
/* A .npy file of version 1.0 with this header; its size. */
size_t file_npy(uint8_t *out, const char *header, const void *data, size_t size);

/* A small file of each format by number, 0 to FILE_SAMPLES - 1, with arrays of all kinds. */
enum { FILE_SAMPLES = 5 };
void file_sample(file_bytes *f, int number);

/* Reads a file of any contents, all of its arrays included, and traps where the reader breaks a promise of
 * frontend/files/arrays.h: on status and message, on sizes and places, on memory. True: it was accepted. */
bool file_check(const uint8_t *bytes, size_t size);

#endif
