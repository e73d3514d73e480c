/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/nassopoulos.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/paper_facts.h"
#include "key/key.h"

#define TABLE1_BUCKETS 54000000
#define SAME_LOAD      0.15 /* largest relative difference from the load of the paper */
#define NEAR_POWER     1.25 /* a size that is compared with the power of two below it */
#define KNEE           0.95 /* share of the best rate */

struct cell {
	const char *item, *setting, *quantity, *unit;
	/* Returns false if nothing was measured. note: "", or what is different here. */
	bool (*find)(const struct nassopoulos *paper, const struct cell *cell,
		struct bench_stats *ours, char note[FIGURES_CELL_MAX]);
	const char *traffic; /* NULL: a capture, or zipf in its place */
	enum flow_structure structure;
	enum table_hash hash;
	uint64_t buckets; /* 0: the largest */
};

void nassopoulos_add(struct nassopoulos *paper, const struct nassopoulos_point *point)
{
	if (paper->n < NASSOPOULOS_POINTS_MAX)
		paper->points[paper->n++] = *point;
}

static bool has_capture(const struct nassopoulos *paper)
{
	for (uint32_t p = 0; p < paper->n; p++)
		if (paper->points[p].capture)
			return true;
	return false;
}

static bool is_of(const struct nassopoulos *paper, const struct cell *cell,
	const struct nassopoulos_point *point)
{
	if (point->variant.structure != cell->structure || point->variant.hash != cell->hash)
		return false;
	if (cell->traffic != NULL)
		return strcmp(point->traffic, cell->traffic) == 0;
	return has_capture(paper) ? point->capture : strcmp(point->traffic, "zipf") == 0;
}

static void note_traffic(const struct nassopoulos *paper, const struct cell *cell, char *note)
{
	snprintf(note, FIGURES_CELL_MAX, "%s",
		cell->traffic != NULL ? ""
		: has_capture(paper)  ? "the capture in place of the CAIDA trace"
				      : "Zipf 1.05 in place of the CAIDA trace");
}

static struct bench_stats rate_of(const struct nassopoulos_point *point)
{
	return (struct bench_stats){
		1000 / point->ns.median, 1000 / point->ns.max, 1000 / point->ns.min};
}

static const struct nassopoulos_point *point_of(
	const struct nassopoulos *paper, const struct cell *cell, uint64_t buckets)
{
	for (uint32_t p = 0; p < paper->n; p++)
		if (is_of(paper, cell, &paper->points[p]) && paper->points[p].buckets == buckets)
			return &paper->points[p];
	return NULL;
}

/* Also finds tables that do not fit in memory. */
static bool find_rate(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	const struct nassopoulos_point *point = point_of(paper, cell, cell->buckets);

	if (point == NULL)
		return false;
	note_traffic(paper, cell, note);
	if (point->missing)
		snprintf(note, FIGURES_CELL_MAX, "not measured: out of memory");
	else
		*ours = rate_of(point);
	return true;
}

/* The text of the paper has no load. At random places, E[L] is load / (1 - exp(-load)). */
static double load_of_paper(const struct cell *cell)
{
	double length = paper_number(PAPER_NASSOPOULOS, cell->item, cell->setting, "E[L]");
	double low = 0, high = length;

	for (uint32_t step = 0; step < 60; step++) {
		double load = (low + high) / 2;

		if (load / -expm1(-load) < length)
			low = load;
		else
			high = load;
	}
	return low;
}

static const struct nassopoulos_point *point_at_load(
	const struct nassopoulos *paper, const struct cell *cell)
{
	const struct nassopoulos_point *nearest = NULL;
	double load = load_of_paper(cell);

	for (uint32_t p = 0; p < paper->n; p++) {
		const struct nassopoulos_point *point = &paper->points[p];

		if (is_of(paper, cell, point) && point->mean > 0 &&
			fabs(point->load / load - 1) < SAME_LOAD &&
			(nearest == NULL || fabs(point->load - load) < fabs(nearest->load - load)))
			nearest = point;
	}
	return nearest;
}

static bool find_at_load(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	const struct nassopoulos_point *point = point_at_load(paper, cell);
	double value;

	if (point == NULL)
		return false;
	note_traffic(paper, cell, note);
	snprintf(note + strlen(note), FIGURES_CELL_MAX - strlen(note), "; %.3f keys per row",
		point->load);
	if (strcmp(cell->quantity, "rate") == 0 && !point->missing) {
		*ours = rate_of(point);
		return true;
	}
	value = strcmp(cell->quantity, "E[L]") == 0 ? point->mean : point->p_single;
	*ours = (struct bench_stats){value, value, value};
	return strcmp(cell->quantity, "rate") != 0;
}

static bool is_power(uint64_t buckets)
{
	return (buckets & (buckets - 1)) == 0;
}

/* Returns the largest measured power of two, or NULL. */
static const struct nassopoulos_point *largest(
	const struct nassopoulos *paper, const struct cell *cell)
{
	const struct nassopoulos_point *found = NULL;

	for (uint32_t p = 0; p < paper->n; p++) {
		const struct nassopoulos_point *point = &paper->points[p];

		if (is_of(paper, cell, point) && !point->missing && is_power(point->buckets) &&
			(found == NULL || point->buckets > found->buckets))
			found = point;
	}
	return found;
}

static bool find_tree_of_list(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	struct cell list = *cell, tree = *cell;
	const struct nassopoulos_point *of_list, *of_tree;

	list.structure = FLOW_LIST;
	tree.structure = FLOW_TREE;
	of_tree = cell->buckets > 0 ? point_of(paper, &tree, cell->buckets) : largest(paper, &tree);
	of_list = of_tree != NULL ? point_of(paper, &list, of_tree->buckets) : NULL;
	if (of_list == NULL || of_list->missing || of_tree->missing)
		return false;
	note_traffic(paper, cell, note);
	snprintf(note + strlen(note), FIGURES_CELL_MAX - strlen(note), "; %" PRIu64 " rows",
		of_tree->buckets);
	*ours = (struct bench_stats){of_list->ns.median / of_tree->ns.median,
		of_list->ns.min / of_tree->ns.max, of_list->ns.max / of_tree->ns.min};
	return true;
}

/* Returns the power of two that a size slightly above it is compared with, or NULL. */
static const struct nassopoulos_point *power_below(const struct nassopoulos *paper,
	const struct cell *cell, const struct nassopoulos_point *point)
{
	uint64_t power = 1;

	while (power <= point->buckets / 2)
		power *= 2;
	if (is_power(point->buckets) || (double)point->buckets > NEAR_POWER * (double)power)
		return NULL;
	return point_of(paper, cell, power);
}

/* The size at which a power of two loses most. */
static bool find_power_loss(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	const struct nassopoulos_point *worst = NULL;
	struct bench_stats factor = {0, 0, 0};
	bool percent = strcmp(cell->unit, "%") == 0;

	for (uint32_t p = 0; p < paper->n; p++) {
		const struct nassopoulos_point *point = &paper->points[p], *power;

		if (!is_of(paper, cell, point) || point->missing ||
			(power = power_below(paper, cell, point)) == NULL || power->missing ||
			power->ns.median / point->ns.median <= factor.median)
			continue;
		worst = power;
		factor = (struct bench_stats){power->ns.median / point->ns.median,
			power->ns.min / point->ns.max, power->ns.max / point->ns.min};
	}
	if (worst == NULL)
		return false;
	note_traffic(paper, cell, note);
	snprintf(note + strlen(note), FIGURES_CELL_MAX - strlen(note), "; most at %" PRIu64 " rows",
		worst->buckets);
	*ours = percent ? (struct bench_stats){100 - 100 / factor.median, 100 - 100 / factor.min,
				  100 - 100 / factor.max}
			: factor;
	return true;
}

static double best_ns(const struct nassopoulos *paper, const struct cell *cell)
{
	double best = INFINITY;

	for (uint32_t p = 0; p < paper->n; p++) {
		const struct nassopoulos_point *point = &paper->points[p];

		if (is_of(paper, cell, point) && !point->missing && is_power(point->buckets))
			best = fmin(best, point->ns.median);
	}
	return best;
}

static bool find_tuple(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	const double bytes = sizeof(struct key4);

	(void)cell;
	snprintf(note, FIGURES_CELL_MAX, "IPv4");
	*ours = (struct bench_stats){bytes, bytes, bytes};
	for (uint32_t p = 0; p < paper->n; p++)
		if (!paper->points[p].missing)
			return true;
	return false;
}

/* The smallest power of two that reaches KNEE of the best rate. */
static bool find_knee(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	double best = best_ns(paper, cell), rows = INFINITY;
	const struct nassopoulos_point *last = largest(paper, cell);

	for (uint32_t p = 0; p < paper->n; p++) {
		const struct nassopoulos_point *point = &paper->points[p];

		if (is_of(paper, cell, point) && !point->missing && is_power(point->buckets) &&
			best / point->ns.median >= KNEE)
			rows = fmin(rows, (double)point->buckets);
	}
	if (last == NULL || last->buckets <= cell->buckets)
		return false;
	note_traffic(paper, cell, note);
	snprintf(note + strlen(note), FIGURES_CELL_MAX - strlen(note),
		"; smallest power of two with %.0f %% of the best rate", KNEE * 100);
	*ours = (struct bench_stats){rows, rows, rows};
	return true;
}

static bool find_loss_of_largest(const struct nassopoulos *paper, const struct cell *cell,
	struct bench_stats *ours, char note[FIGURES_CELL_MAX])
{
	const struct nassopoulos_point *point = largest(paper, cell);
	double best = best_ns(paper, cell);

	if (point == NULL || point->buckets <= cell->buckets)
		return false;
	note_traffic(paper, cell, note);
	snprintf(note + strlen(note), FIGURES_CELL_MAX - strlen(note), "; %" PRIu64 " rows",
		point->buckets);
	*ours = (struct bench_stats){100 - 100 * best / point->ns.median,
		fmax(100 - 100 * best / point->ns.min, 0), 100 - 100 * best / point->ns.max};
	return true;
}

#define RATE(traffic_text, traffic_name, collision)                                                \
	{                                                                                          \
		.item = "Table 1", .setting = traffic_text "; CoralReef; 54 M rows",               \
		.quantity = "rate", .unit = "Mpps", .find = find_rate, .traffic = (traffic_name),  \
		.structure = (collision), .hash = TABLE_HASH_CORALREEF, .buckets = TABLE1_BUCKETS, \
	}
#define CHAIN(hash_text, hash_id, quantity_text, unit_text)                                        \
	{                                                                                          \
		.item = "Fig. 4", .setting = (hash_text), .quantity = (quantity_text),             \
		.unit = (unit_text), .find = find_at_load, .structure = FLOW_LIST,                 \
		.hash = (hash_id),                                                                 \
	}
#define CHAINS(hash_text, hash_id)                                                                 \
	CHAIN(hash_text, hash_id, "P(L=1)", "ratio"), CHAIN(hash_text, hash_id, "E[L]", "flows"),  \
		CHAIN(hash_text, hash_id, "rate", "Mpps")

/* item, setting, quantity and unit are those of bench/papers. */
static const struct cell cells[] = {
	{"Sec. 3.1", "emulation", "tuple in memory", "bytes", find_tuple, NULL, FLOW_LIST,
		TABLE_HASH_CORALREEF, 0},
	RATE("deterministic (one tuple); list", "single", FLOW_LIST),
	RATE("deterministic (one tuple); tree", "single", FLOW_TREE),
	RATE("CAIDA; list", NULL, FLOW_LIST),
	RATE("CAIDA; tree", NULL, FLOW_TREE),
	RATE("random; list", "random", FLOW_LIST),
	RATE("random; tree", "random", FLOW_TREE),
	{"Fig. 2", "CAIDA", "knee", "rows", find_knee, NULL, FLOW_LIST, TABLE_HASH_CORALREEF,
		1 << 22},
	{"Fig. 2", "CAIDA; CoralReef; largest", "loss against the best", "%", find_loss_of_largest,
		NULL, FLOW_LIST, TABLE_HASH_CORALREEF, 1 << 22},
	{"Fig. 3", "smallest", "tree / list", "ratio", find_tree_of_list, NULL, FLOW_LIST,
		TABLE_HASH_CORALREEF, 1 << 14},
	{"Fig. 3", "knee", "tree / list", "ratio", find_tree_of_list, NULL, FLOW_LIST,
		TABLE_HASH_CORALREEF, 1 << 22},
	{"Fig. 3", "largest", "tree / list", "ratio", find_tree_of_list, NULL, FLOW_LIST,
		TABLE_HASH_CORALREEF, 0},
	CHAINS("CoralReef", TABLE_HASH_CORALREEF),
	CHAINS("Bob", TABLE_HASH_JENKINS),
	CHAINS("Murmur", TABLE_HASH_MURMUR3),
	{"Fig. 5", "CoralReef; list; power of two against not", "rate lost", "factor",
		find_power_loss, NULL, FLOW_LIST, TABLE_HASH_CORALREEF, 0},
	{"Fig. 5", "CoralReef; tree; power of two against not", "rate lost", "%", find_power_loss,
		NULL, FLOW_TREE, TABLE_HASH_CORALREEF, 0},
};

/* A number of rows is exact. */
static void cell_value(struct figures *figures, const char *column, double value)
{
	figures_cell(figures, column, value < 10000 ? "%.4g" : "%.0f", value);
}

static void print_cell(
	const struct nassopoulos *paper, struct figures *figures, const struct cell *cell)
{
	char note[FIGURES_CELL_MAX] = "";
	struct bench_stats ours = {NAN, NAN, NAN};

	if (!cell->find(paper, cell, &ours, note))
		return;
	figures_cell(figures, "bench", "flow-table printed");
	figures_cell(figures, "item", "%s", cell->item);
	figures_cell(figures, "setting", "%s", cell->setting);
	figures_cell(figures, "quantity", "%s", cell->quantity);
	figures_cell(figures, "unit", "%s", cell->unit);
	figures_cell(figures, "printed", "%s",
		paper_value(PAPER_NASSOPOULOS, cell->item, cell->setting, cell->quantity));
	figures_cell(figures, "note", "%s", note);
	if (!isnan(ours.median)) {
		cell_value(figures, "ours", ours.median);
		cell_value(figures, "ours_min", ours.min);
		cell_value(figures, "ours_max", ours.max);
		figures_cell(figures, "how", "measured");
	}
	figures_row(figures);
}

void nassopoulos_print(const struct nassopoulos *paper, struct figures *figures)
{
	FILE *table = figures->table;

	figures->table = NULL;
	for (size_t c = 0; c < sizeof(cells) / sizeof(cells[0]); c++)
		print_cell(paper, figures, &cells[c]);
	figures->table = table;
}
