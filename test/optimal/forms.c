/* Linear forms, and the quotients that a target may be made of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

static int plain_cost(const search_form *f, int axes) {
  int terms = 0, products = 0;
  bool positive = f->c[axes] != 0;
  for (int i = 0; i < axes; i++) {
    terms += f->c[i] != 0;
    products += abs(f->c[i]) > 1;
    positive |= f->c[i] > 0 || abs(f->c[i]) > 1;
  }
  if (!terms) return 0;
  return products + terms - 1 + (f->c[axes] != 0) + !positive;
}

int search_cost(const search_form *f, int axes) {
  int best = plain_cost(f, axes);
  for (int i = 0; i < axes; i++) {
    int factor = abs(f->c[i]);
    search_form in = {{0}};
    int inside = 0, outside = 0;
    if (factor < 2) continue;
    for (int k = 0; k <= axes; k++) {
      if (f->c[k] == 0) continue;
      if (f->c[k] % factor == 0) in.c[k] = f->c[k] / factor, inside++;
      else outside += 1 + (k < axes && abs(f->c[k]) > 1);
    }
    if (inside < 2) continue;
    int cost = 1 + search_cost(&in, axes) + outside;
    if (cost < best) best = cost;
  }
  return best;
}

/* An orthonormal basis of the linear forms' values on the lanes. */
typedef struct span {
  int rank, count;
  double *row; /* row[i * count + lane] */
} span;

static void project_out(const span *s, double *v) {
  for (int i = 0; i < s->rank; i++) {
    const double *u = s->row + (size_t)i * (size_t)s->count;
    double dot = 0;
    for (int k = 0; k < s->count; k++) dot += u[k] * v[k];
    for (int k = 0; k < s->count; k++) v[k] -= dot * u[k];
  }
}

static double square(const double *v, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += v[k] * v[k];
  return sum;
}

static void make_span(const search_lanes *s, span *out) {
  out->count = s->count;
  out->rank = 0;
  out->row = malloc((size_t)(s->axes + 1) * (size_t)s->count * sizeof *out->row);
  for (int i = -1; i < s->axes; i++) {
    double *v = out->row + (size_t)out->rank * (size_t)s->count;
    for (int k = 0; k < s->count; k++) v[k] = i < 0 ? 1 : s->at[i * s->count + k];
    double before = square(v, s->count);
    project_out(out, v);
    project_out(out, v);
    double length = sqrt(square(v, s->count));
    if (length * length <= 1e-9 * before) continue;
    for (int k = 0; k < s->count; k++) v[k] /= length;
    out->rank++;
  }
}

static int floor_div(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* Distinct residues modulo `by` that constants at hand, and their negatives, have. */
static int residues(const search_lanes *s, int by, int *out) {
  int count = 0;
  for (int i = -1; i < s->constants; i++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      int r = i < 0 ? 0 : ((sign * s->constant[i]) % by + by) % by, k = 0;
      while (k < count && out[k] != r) k++;
      if (k == count) out[count++] = r;
    }
  return count;
}

int search_quotients(const search_lanes *s, search_quotient *out, int most, int32_t *finished) {
  enum { FORMS = 2000000 };
  span linear;
  make_span(s, &linear);
  double *want = malloc((size_t)s->count * sizeof *want), *have = malloc((size_t)s->count * sizeof *have);
  int *base = malloc((size_t)s->count * sizeof *base),
      *choice = malloc(((size_t)s->constants * 2 + 2) * sizeof *choice);
  int found = 0;
  for (int k = 0; k < s->count; k++) want[k] = s->target[k];
  project_out(&linear, want);
  double length = square(want, s->count);
  for (int c = 0; c < s->constants; c++) {
    int by = s->constant[c];
    if (by < 2) continue;
    int many = residues(s, by, choice);
    double total = by;
    for (int i = 0; i < s->axes; i++) total *= many;
    if (total > FORMS || by > 512) {
      *finished = 0;
      continue;
    }
    int digit[AXES] = {0};
    for (;;) {
      bool zero = true;
      for (int k = 0; k < s->count; k++) base[k] = 0;
      for (int i = 0; i < s->axes; i++) {
        int r = choice[digit[i]];
        zero &= r == 0;
        for (int k = 0; k < s->count && r; k++) base[k] += r * s->at[i * s->count + k];
      }
      for (int added = 0; added < by && !zero; added++) {
        for (int k = 0; k < s->count; k++) have[k] = floor_div(base[k] + added, by);
        project_out(&linear, have);
        double size = square(have, s->count), dot = 0;
        for (int k = 0; k < s->count; k++) dot += have[k] * want[k];
        if (size < 1e-6 || dot * dot < (1 - 1e-9) * size * length) continue;
        if (found == most) {
          *finished = 0;
          goto done;
        }
        search_quotient *q = &out[found++];
        *q = (search_quotient){.by = by};
        for (int i = 0; i < s->axes; i++) q->of.c[i] = choice[digit[i]];
        q->of.c[s->axes] = added;
      }
      int i = 0;
      while (i < s->axes && ++digit[i] == many) digit[i++] = 0;
      if (i == s->axes) break;
    }
  }
done:
  free(linear.row), free(want), free(have), free(base), free(choice);
  return found;
}
