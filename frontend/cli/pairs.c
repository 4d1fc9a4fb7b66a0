/* NAME=VALUE arguments of a subcommand. */
#include "frontend/cli/bind.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"

enum { VALUES_BYTES = 240 }; /* of names in a message, because more than a few lines are not read */

static const char *example_of(const char *option) {
  return strcmp(option, "--size") == 0 ? "4" : strcmp(option, "--shard") == 0 ? "[x,-]" : "FILE.npy";
}

int cli_pairs_add(void *to, const char *command, const char *option, const char *word) {
  cli_pairs *pairs = to;
  const char *name = *word == '%' ? word + 1 : word, *equals = strchr(name, '=');
  bool value =
      *word == '[' || *word == '-' || (*word >= '0' && *word <= '9') || strchr(word, '.'); /* or a name? */
  size_t colon = strcspn(name, ":");
  if (!equals && name[colon] && colon && name[colon + 1])
    return cli_usage(command, "%s takes NAME=VALUE, found '%s'; as in %s %.*s=%s", option, word, option,
                     (int)colon, name, name + colon + 1);
  if (!equals && value && strcmp(option, "--size") != 0)
    return cli_usage(command, "%s takes NAME=VALUE, found '%s'; as in %s NAME=%s, with the name of a %s",
                     option, word, option, word, strcmp(option, "--out") == 0 ? "result" : "parameter");
  if (!equals)
    return cli_usage(command, "%s takes NAME=VALUE, found '%s'; as in %s %s=%s", option, word, option,
                     value ? "n" : name, value ? word : example_of(option));
  if (equals == name || !equals[1])
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

int cli_unknown_value(const char *command, const char *option, const cli_pair *pair, const ir_module *module,
                      const ir_parsed_graph *block) {
  ir_text list;
  ir_text_init(&list, &ir_mem_libc);
  int length = (int)(pair->length > 60 ? 60 : pair->length);
  for (size_t i = 0; i < module->count; i++) {
    const ir_parsed_graph *other = &module->graphs[i];
    if (other == block || other->kind != IR_BLOCK_GRAPH || !ir_defined_find(other, pair->name, pair->length))
      continue;
    ir_textf(
        &list,
        "; @%.60s has one, whose values are not those of one call: return it from there, or show it by %%q = "
        "print %%%.*s text=\"%.*s = {}\"",
        other->name, length, pair->name, length, pair->name);
    break;
  }
  if (!list.len) {
    ir_text_str(&list, "; it has ");
    size_t begin = list.len;
    for (size_t i = 0; i < block->param_count && list.len < VALUES_BYTES; i++)
      ir_textf(&list, "%s%%%.40s", list.len > begin ? ", " : "", block->params[i].name);
    for (size_t i = 0; i < block->value_count && list.len < VALUES_BYTES; i++)
      ir_textf(&list, "%s%%%.40s", list.len > begin ? ", " : "", block->values[i].name);
    for (size_t i = 0; i < block->result_count && list.len < VALUES_BYTES; i++)
      if (!ir_defined_find(block, block->results[i].name, block->results[i].length))
        ir_textf(&list, "%s%%%.40s", list.len > begin ? ", " : "", block->results[i].name);
    if (list.len >= VALUES_BYTES) ir_text_str(&list, ", ...");
  }
  int status = cli_usage(command, "%s: @%.60s has no value %%%.*s%s", option, block->name, length, pair->name,
                         ir_text_get(&list));
  ir_text_free(&list);
  return status;
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
