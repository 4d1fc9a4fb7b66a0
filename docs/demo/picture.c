/* Turns a picture into an array and back: picture IN.png OUT.npy, or picture IN.npy OUT.png.
 *
 * The array is u8[height,width,3], row-major, as `.npy` version 1. Exit status 2 and a message when a file is
 * not what it should be; no file is left behind then. */
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, HEADER = 128, LARGEST = 1 << 14 };

typedef struct {
  unsigned height, width;
  uint8_t *pixels;
} picture;

static int complain(const char *path, const char *what) {
  fprintf(stderr, "picture: %s: %s\n", path, what);
  return 2;
}

static int read_png(const char *path, picture *p) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_file(&image, path)) return complain(path, image.message);
  image.format = PNG_FORMAT_RGB;
  p->height = image.height;
  p->width = image.width;
  p->pixels = malloc(PNG_IMAGE_SIZE(image));
  if (p->pixels && png_image_finish_read(&image, NULL, p->pixels, 0, NULL)) return 0;
  png_image_free(&image);
  return complain(path, p->pixels ? image.message : "out of memory");
}

static int write_png(const char *path, const picture *p) {
  png_image image = {
      .version = PNG_IMAGE_VERSION, .width = p->width, .height = p->height, .format = PNG_FORMAT_RGB};
  if (png_image_write_to_file(&image, path, 0, p->pixels, 0, NULL)) return 0;
  remove(path);
  return complain(path, image.message);
}

static int read_npy(const char *path, picture *p) {
  static const char magic[8] = "\x93NUMPY\x01";
  char header[HEADER + 1] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return complain(path, "cannot be opened");
  size_t got = fread(header, 1, HEADER, file), size = 0;
  char *shape =
      got == HEADER && !memcmp(header, magic, sizeof magic) ? strstr(header + 10, "'shape': (") : NULL;
  if (shape && strstr(header + 10, "u1") && strstr(header + 10, "False") &&
      sscanf(shape, "'shape': (%u, %u, 3)", &p->height, &p->width) == 2 && p->height && p->width &&
      p->height <= LARGEST && p->width <= LARGEST)
    size = (size_t)p->height * p->width * CHANNELS;
  p->pixels = size ? malloc(size) : NULL;
  got = p->pixels ? fread(p->pixels, 1, size, file) : 0;
  fclose(file);
  return size && got == size ? 0 : complain(path, "is not a u8[height,width,3] array of .npy version 1");
}

static int write_npy(const char *path, const picture *p) {
  char header[HEADER + 1];
  size_t size = (size_t)p->height * p->width * CHANNELS;
  int length =
      snprintf(header + 10, HEADER - 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (%u, %u, 3), }",
               p->height, p->width);
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = HEADER - 10;
  header[9] = 0;
  memset(header + 10 + length, ' ', (size_t)(HEADER - 11 - length));
  header[HEADER - 1] = '\n';
  FILE *file = fopen(path, "wb");
  if (!file) return complain(path, "cannot be written");
  size_t written = fwrite(header, 1, HEADER, file) + fwrite(p->pixels, 1, size, file);
  if (fclose(file) == 0 && written == HEADER + size) return 0;
  remove(path);
  return complain(path, "cannot be written");
}

static int ends_in(const char *path, const char *suffix) {
  size_t length = strlen(path), tail = strlen(suffix);
  return length > tail && !strcmp(path + length - tail, suffix);
}

int main(int argc, char **argv) {
  int to_array = argc == 3 && ends_in(argv[1], ".png") && ends_in(argv[2], ".npy");
  int to_picture = argc == 3 && ends_in(argv[1], ".npy") && ends_in(argv[2], ".png");
  if (!to_array && !to_picture) {
    fprintf(stderr, "usage: picture IN.png OUT.npy | picture IN.npy OUT.png\n");
    return 2;
  }
  picture p = {0};
  int status = to_array ? read_png(argv[1], &p) : read_npy(argv[1], &p);
  if (!status) status = to_array ? write_npy(argv[2], &p) : write_png(argv[2], &p);
  if (!status) printf("%s -> %s: u8[%u,%u,%d]\n", argv[1], argv[2], p.height, p.width, CHANNELS);
  free(p.pixels);
  return status;
}
