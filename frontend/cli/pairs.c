/* NAME=VALUE arguments of a subcommand. */
#include "frontend/cli/bind.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"

int cli_pairs_add(void *to, const char *command, const char *option, const char *word) {
  cli_pairs *pairs = to;
  const char *name = *word == '%' ? word + 1 : word, *equals = strchr(name, '=');
  if (!equals || equals == name || !equals[1])
    return cli_usage(command, "%s takes NAME=VALUE, found '%s'", option, word);
  if (!IR_RESERVE(&ir_mem_libc, pairs->items, pairs->cap, pairs->count + 1))
    return cli_usage(command, "out of memory");
  pairs->items[pairs->count++] = (cli_pair){name, equals + 1, (size_t)(equals - name)};
  return CLI_OK;
}

void cli_pairs_free(cli_pairs *pairs) {
  ir_free(&ir_mem_libc, pairs->items, pairs->cap * sizeof *pairs->items);
}

bool cli_is_called(const cli_pair *pair, const char *name) {
  return strlen(name) == pair->length && memcmp(name, pair->name, pair->length) == 0;
}

const cli_pair *cli_pairs_find(const cli_pairs *pairs, const char *name) {
  for (size_t i = 0; i < pairs->count; i++)
    if (cli_is_called(&pairs->items[i], name)) return &pairs->items[i];
  return NULL;
}

const ir_named *cli_named(const ir_named *names, size_t count, const cli_pair *pair) {
  for (size_t i = 0; i < count; i++)
    if (cli_is_called(pair, names[i].name)) return &names[i];
  return NULL;
}

void cli_pairs_remove(cli_pairs *pairs, const cli_pair *pair) {
  size_t at = (size_t)(pair - pairs->items);
  memmove(pairs->items + at, pairs->items + at + 1, (--pairs->count - at) * sizeof *pairs->items);
}

static int unknown_name(const char *command, const char *option, const cli_pair *pair, const ir_named *names,
                        size_t count, const ir_parsed_graph *block, const char *what) {
  char list[300] = "";
  int used = 0;
  for (size_t i = 0; i < count && used < 240; i++)
    used += snprintf(list + used, sizeof list - (size_t)used, "%s%%%.40s", i ? ", " : "", names[i].name);
  return cli_usage(command, "%s: @%.60s has no %s %%%.*s; it has %s", option, block->name, what,
                   (int)(pair->length > 60 ? 60 : pair->length), pair->name, count ? list : "none");
}

int cli_pairs_check(const cli_pairs *pairs, const char *command, const char *option, const ir_named *names,
                    size_t count, const ir_parsed_graph *block, const char *what) {
  for (size_t i = 0; i < pairs->count; i++) {
    const cli_pair *pair = &pairs->items[i];
    const ir_named *named = cli_named(names, count, pair);
    if (!named) return unknown_name(command, option, pair, names, count, block, what);
    if (cli_pairs_find(pairs, named->name) != pair)
      return cli_usage(command, "%s %s is given twice", option, named->name);
  }
  return CLI_OK;
}
