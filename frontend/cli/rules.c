/* `viewfold rules`: the rewrite rules and their reasons. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "passes/index/rule.h"

static const char help_text[] =
    "Usage: viewfold rules [--json]\n"
    "\n"
    "Prints the rules that index expressions are simplified by, in the order in which they are tried, each "
    "with its\n"
    "reason below it. a to k stand for constants, p to r for conditions, s to z for any expression; / "
    "divides\n"
    "constants, lo(x) and hi(x) are bounds of x that are known, and known(x, d) is x % d where it is known. "
    "`viewfold\n"
    "index --trace-rules` shows which of them fire.\n"
    "\n"
    "  $ viewfold rules | grep -A 1 div_of_sum\n"
    "  div_of_sum        (x + c) // d            => x // d + c / d if c % d == 0\n"
    "                    multiples of d can be taken out of the quotient\n"
    "\n"
    "Options:\n"
    "  --json   print one object per line: set, name, left, right, condition, witness, reason\n";

static const pass_rule_set *const sets[] = {&pass_index_rule_set};
enum { SETS = sizeof sets / sizeof *sets };

static void print_table(const pass_rule_set *set) {
  int name = 0, left = 0;
  for (size_t i = 0; i < set->rule_count; i++) {
    int n = (int)strlen(set->rules[i].name), l = (int)strlen(set->rules[i].left);
    name = n > name ? n : name;
    left = l > left ? l : left;
  }
  for (size_t i = 0; i < set->rule_count; i++) {
    const pass_rule *r = &set->rules[i];
    printf("%-*s  %-*s => %s%s%s\n", name, r->name, left, r->left, r->right, *r->condition ? " if " : "",
           r->condition);
    printf("%*s  %s\n", name, "", r->reason);
  }
}

static json_t *text_or_null(const char *text) { return *text ? json_string(text) : json_null(); }

static bool print_json(const pass_rule_set *set) {
  bool printed = true;
  for (size_t i = 0; i < set->rule_count && printed; i++) {
    const pass_rule *r = &set->rules[i];
    json_t *rule = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s}", "set", set->name, "name", r->name, "left",
                             r->left, "right", r->right, "condition", text_or_null(r->condition), "witness",
                             text_or_null(r->witness), "reason", r->reason);
    printed = rule && json_dumpf(rule, stdout, JSON_COMPACT) == 0;
    putchar('\n');
    json_decref(rule);
  }
  if (!printed) fputs("viewfold rules: out of memory\n", stderr);
  return printed;
}

int cli_rules(int argc, char **argv) {
  bool json;
  int status = cli_read_switch(help_text, "--json", "no arguments expected, found '%s'", argc, argv, &json);
  if (status != CLI_END) return status;
  bool printed = true;
  for (size_t i = 0; i < SETS && printed; i++) {
    if (json) printed = print_json(sets[i]);
    else print_table(sets[i]);
  }
  return printed ? CLI_OK : CLI_DEVICE;
}
