/* Sentence search with all-MiniLM-L6-v2: which sentences of a file mean what a text says?
 *
 *   minilm MODEL SENTENCES               answers while typing; or, where no terminal is, to each line of
 * input minilm MODEL SENTENCES --once TEXT   answers to one text minilm --tokens VOCABULARY           the
 * tokens of each line of input
 *
 * MODEL is a folder with model.safetensors and vocab.txt. Before these, --best N: so many answers, 5 when not
 * given; --time: what it took, on standard error. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "library.h"
#include "terminal.h"

typedef struct settings {
  int best;
  bool time;
} settings;

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool answer_once(library *l, const char *text, size_t length, settings s, vf_error *error) {
  answer *answers = malloc((size_t)s.best * sizeof *answers);
  int count = answers ? library_search(l, text, length, s.best, answers, error) : -1;
  for (int i = 0; i < count; i++)
    printf("%.6f  %.*s\n", answers[i].score, (int)answers[i].sentence.length, answers[i].sentence.text);
  free(answers);
  return count >= 0;
}

/* Calls function for each line of the input, until it returns false. */
static bool each_line(bool (*function)(void *user, const char *text, size_t length), void *user) {
  char *text = NULL;
  size_t room = 0;
  ssize_t length;
  bool good = true;
  while (good && (length = getline(&text, &room, stdin)) >= 0) {
    while (length && (text[length - 1] == '\n' || text[length - 1] == '\r')) length--;
    good = function(user, text, (size_t)length);
    fflush(stdout);
  }
  free(text);
  return good;
}

static bool print_tokens(void *user, const char *text, size_t length) {
  int32_t tokens[ENCODER_LONGEST];
  int count = tokenize(user, text, length, ENCODER_LONGEST, tokens);
  for (int i = 0; i < count; i++) printf("%d%c", (int)tokens[i], i + 1 < count ? ' ' : '\n');
  return count > 0;
}

typedef struct session {
  library corpus;
  settings settings;
  vf_error error;
} session;

static bool answer_line(void *user, const char *text, size_t length) {
  session *s = user;
  bool good = answer_once(&s->corpus, text, length, s->settings, &s->error);
  printf("\n");
  return good;
}

static bool search(session *s, const char *once) {
  if (once) return answer_once(&s->corpus, once, strlen(once), s->settings, &s->error);
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
    return terminal_search(&s->corpus, s->settings.best, &s->error);
  return each_line(answer_line, s);
}

static int usage(void) {
  fprintf(stderr, "usage: minilm [--best N] [--time] MODEL SENTENCES [--once TEXT]\n"
                  "       minilm --tokens VOCABULARY\n");
  return 2;
}

static int tokens_of_input(const char *path) {
  vocabulary *v = vocabulary_read(path);
  if (!v) return fprintf(stderr, "%s: no vocabulary with [UNK], [CLS] and [SEP]\n", path), 1;
  bool good = each_line(print_tokens, v);
  vocabulary_free(v);
  return good ? 0 : 1;
}

int main(int count, char **argument) {
  double begin = milliseconds();
  session s = {.settings = {5, false}};
  char **at = argument + 1, **end = argument + count;
  if (count == 3 && strcmp(*at, "--tokens") == 0) return tokens_of_input(at[1]);
  for (; at < end && strncmp(*at, "--", 2) == 0; at++) {
    if (strcmp(*at, "--time") == 0) s.settings.time = true;
    else if (strcmp(*at, "--best") == 0 && at + 1 < end) s.settings.best = atoi(*++at);
    else return usage();
  }
  bool once = end - at == 4 && strcmp(at[2], "--once") == 0;
  if ((end - at != 2 && !once) || s.settings.best < 1) return usage();
  bool good = library_open(&s.corpus, at[0], at[1], &s.error);
  double ready = milliseconds();
  if (good) good = search(&s, once ? at[3] : NULL);
  if (s.settings.time)
    fprintf(stderr, "%zu sentences read after %.1f ms, all done after %.1f ms\n", s.corpus.sentences.count,
            ready - begin, milliseconds() - begin);
  library_close(&s.corpus);
  if (!good) fprintf(stderr, "minilm: %s\n", s.error.message);
  return good ? 0 : 1;
}
