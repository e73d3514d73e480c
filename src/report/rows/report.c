/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "report/rows/report.h"
#include "base/assertion.h"
#include "base/text.h"
#include "base/units.h"

#define COLUMN(field) .name = #field, .offset = offsetof(struct ledger, field)

const struct ledger_column ledger_columns[LEDGER_COLUMNS] = {
	{COLUMN(offered)},
	{COLUMN(received)},
	{COLUMN(measured)},
	{COLUMN(filtered), .fate = LEDGER_LEFT_OUT},
	{COLUMN(non_ip), .fate = LEDGER_LEFT_OUT},
	{COLUMN(malformed), .fate = LEDGER_LEFT_OUT},
	{COLUMN(nic_missed), .fate = LEDGER_LOST,
		.why = "the NIC had no free descriptor: workers are too slow or too few"},
	{COLUMN(nic_errors), .fate = LEDGER_LOST,
		.why = "the NIC received damaged frames: check cable and optics"},
	{COLUMN(no_mbuf), .fate = LEDGER_LOST,
		.why = "no packet buffer was free: raise the option mbufs"},
	{COLUMN(ring_full), .fate = LEDGER_LOST,
		.why = "the ring of a worker was full: the worker is too slow for its packets"},
	{COLUMN(shed), .fate = LEDGER_LOST,
		.why = "the table of a sketch had no room for new keys: raise --width"},
	{COLUMN(unaccounted)},
	{COLUMN(bytes), .bytes_of = "measured"},
	{COLUMN(duplicate), .fate = LEDGER_LEFT_OUT, .when = LEDGER_COLLECTED},
	{COLUMN(skipped), .fate = LEDGER_SKIPPED, .when = LEDGER_KEPT_UP},
	{COLUMN(skipped_bytes), .when = LEDGER_KEPT_UP, .bytes_of = "skipped"},
};

uint64_t ledger_of_fate(const struct ledger *ledger, enum drop_reason fate)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_columns[c].fate == fate)
			sum += ledger_column(ledger, c);
	return sum;
}

/* Appends the counts that are not 0, such as " (1 nic_missed, 2 shed)". */
static void add_causes(struct text *text, const struct ledger *ledger, enum drop_reason fate)
{
	const char *before = " (";

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		uint64_t value = ledger_column(ledger, c);

		if (ledger_columns[c].fate != fate || value == 0)
			continue;
		text_printf(text, "%s%llu %s", before, (unsigned long long)value,
			ledger_columns[c].name);
		before = ", ";
	}
	text_str(text, ledger_of_fate(ledger, fate) > 0 ? ")" : "");
}

void ledger_losses(struct text *text, const struct ledger *ledger)
{
	if (ledger->losses_unknown && ledger_lost(ledger) == 0)
		text_str(text, "losses unknown");
	else
		text_printf(text, "%s%llu lost", ledger->losses_unknown ? "at least " : "",
			(unsigned long long)ledger_lost(ledger));
	add_causes(text, ledger, LEDGER_LOST);
	if (ledger->doubtful > 0)
		text_printf(text, ", perhaps %llu more", (unsigned long long)ledger->doubtful);
}

void ledger_others(struct text *text, const struct ledger *ledger)
{
	if (ledger->skipped > 0)
		text_printf(text, ", %llu skipped", (unsigned long long)ledger->skipped);
	if (ledger->unaccounted > 0)
		text_printf(text, ", %llu unaccounted", (unsigned long long)ledger->unaccounted);
}

void ledger_sentence(struct text *text, const struct ledger *ledger, uint64_t epochs)
{
	uint64_t left_out = ledger_of_fate(ledger, LEDGER_LEFT_OUT);

	text_printf(text, "%llu packet%s offered in %llu interval%s: %llu measured, ",
		(unsigned long long)ledger->offered, ledger->offered == 1 ? "" : "s",
		(unsigned long long)epochs, epochs == 1 ? "" : "s",
		(unsigned long long)ledger->measured);
	ledger_losses(text, ledger);
	if (left_out > 0)
		text_printf(text, ", %llu left out", (unsigned long long)left_out);
	add_causes(text, ledger, LEDGER_LEFT_OUT);
	ledger_others(text, ledger);
}

void ledger_add(struct ledger *sum, const struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		uint64_t *column = (uint64_t *)((char *)sum + ledger_columns[c].offset);

		if (__builtin_add_overflow(*column, ledger_column(ledger, c), column))
			/* Flow records may have counts of any size. */
			*column = UINT64_MAX;
	}
	sum->rx_ns += ledger->rx_ns;
	sum->ppt_ns += ledger->ppt_ns;
	sum->free_ns += ledger->free_ns;
	sum->doubtful += ledger->doubtful;
	if (__builtin_add_overflow(sum->missing_bytes, ledger->missing_bytes, &sum->missing_bytes))
		sum->missing_bytes = UINT64_MAX;
	sum->losses_unknown |= ledger->losses_unknown;
	sum->collected |= ledger->collected;
	sum->kept_up |= ledger->kept_up;
}

struct report_epoch *report_epoch_alloc(uint32_t nb_measurements, uint32_t workers)
{
	struct report_epoch *epoch = calloc(
		1, sizeof(*epoch) + (size_t)nb_measurements * sizeof(epoch->measurements[0]));

	if (epoch == NULL)
		return NULL;
	epoch->nb_measurements = nb_measurements;
	epoch->workers = workers;
	atomic_init(&epoch->references, 1);
	epoch->loads = calloc(workers, sizeof(epoch->loads[0]));
	epoch->costs = calloc(workers, sizeof(epoch->costs[0]));
	if (epoch->loads != NULL && epoch->costs != NULL)
		return epoch;
	free(epoch->loads);
	free(epoch->costs);
	free(epoch);
	return NULL;
}

struct report_asked {
	struct key_rule rule;
	char words[];
};

bool report_measurement_ask(struct report_measurement *measurement, const char *name,
	const struct key_rule *rule, const char *sketch)
{
	size_t rule_size = strlen(rule->name) + 1, name_size = strlen(name) + 1;
	struct report_asked *asked = malloc(sizeof(*asked) + rule_size + name_size);

	if (asked == NULL)
		return false;
	asked->rule = *rule;
	asked->rule.name = memcpy(asked->words, rule->name, rule_size);
	measurement->name = memcpy(asked->words + rule_size, name, name_size);
	measurement->key_rule = &asked->rule;
	measurement->sketch = sketch;
	measurement->asked = asked;
	return true;
}

static void free_collected(struct report_collected *collected)
{
	if (collected == NULL)
		return;
	for (uint32_t i = 0; i < collected->nb_owned; i++)
		free(collected->owned[i]);
	free(collected->owned);
	free(collected->paths);
	free(collected->exporters);
	free(collected->links);
	free(collected->neighbours);
	free(collected->samplings);
	free(collected->datagrams);
	free(collected->payloads);
	free(collected);
}

struct report_epoch *report_epoch_share(struct report_epoch *epoch)
{
	ASSERT(atomic_load_explicit(&epoch->references, memory_order_relaxed), >, 0U);
	atomic_fetch_add_explicit(&epoch->references, 1, memory_order_relaxed);
	return epoch;
}

void report_epoch_free(struct report_epoch *epoch)
{
	/* Pairs with itself: all other threads have finished with the epoch that is freed. */
	if (epoch == NULL ||
		atomic_fetch_sub_explicit(&epoch->references, 1, memory_order_acq_rel) > 1)
		return;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		free(epoch->measurements[m].rows);
		free(epoch->measurements[m].flows);
		free(epoch->measurements[m].queries);
		free(epoch->measurements[m].figures);
		free(epoch->measurements[m].asked);
		free(epoch->measurements[m].inside.keys);
	}
	free_collected(epoch->collected);
	free(epoch->ports);
	free(epoch->rules);
	free(epoch->forwarded);
	free(epoch->states);
	free(epoch->deliveries);
	free(epoch->loads);
	free(epoch->costs);
	free(epoch);
}

struct ledger ledger_of_measurement(
	const struct ledger *ledger, const struct report_measurement *measurement)
{
	const struct report_waited *waited = &measurement->waited;
	const struct report_inside *inside = &measurement->inside;
	struct ledger rest = *ledger;

	rest.measured -= waited->measured;
	rest.bytes -= waited->bytes;
	rest.added -= waited->added;
	rest.added_bytes -= waited->added_bytes;
	rest.skipped += waited->measured;
	rest.skipped_bytes += waited->bytes;
	rest.unseen += waited->unseen;
	rest.unseen_bytes += waited->unseen_bytes;
	rest.measured -= waited->left_out.packets;
	rest.bytes -= waited->left_out.bytes;
	rest.added -= waited->left_out.counted - waited->left_out.packets;
	rest.added_bytes -= waited->left_out.counted_bytes - waited->left_out.bytes;
	rest.skipped += waited->left_out.packets;
	rest.skipped_bytes += waited->left_out.bytes;
	rest.left_out = waited->left_out;
	if (inside->only) {
		rest.filtered += rest.measured - inside->packets;
		rest.measured = inside->packets;
		rest.bytes = inside->bytes;
		rest.added = inside->added;
		rest.added_bytes = inside->added_bytes;
	}
	return rest;
}

struct ledger report_ledger(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	struct ledger ledger = ledger_of_measurement(&epoch->ledger, measurement);

	ledger.shed += measurement->shed_packets;
	ledger.measured -= measurement->shed_packets;
	ledger.bytes -= measurement->shed_bytes;
	return ledger;
}

uint32_t report_key_fields(const struct report_epoch *epoch)
{
	uint32_t fields = 0;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		fields |= epoch->measurements[m].key_rule->fields;
	return fields;
}

uint64_t report_duration(const struct report_epoch *epoch)
{
	return epoch->end > epoch->start ? (uint64_t)epoch->end - (uint64_t)epoch->start : 0;
}

uint64_t report_rate_time(const struct report_epoch *epoch)
{
	return epoch->took > 0 ? epoch->took : report_duration(epoch);
}

uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns)
{
	unsigned __int128 rate;

	VERIFY(duration_ns, >, 0U);
	rate = (amount * SECOND_NS + duration_ns / 2) / duration_ns;
	return rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}

static bool per_second(const struct report_epoch *epoch, const struct report_figure *figure,
	uint32_t factor, uint64_t *rate)
{
	uint64_t duration = report_duration(epoch);

	if (!figure->known || duration == 0)
		return false;
	*rate = report_per_second((unsigned __int128)figure->value * factor, duration);
	return true;
}

bool report_pps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *pps)
{
	return per_second(epoch, &row->packets, 1, pps);
}

bool report_bps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *bps)
{
	return per_second(epoch, &row->bytes, 8, bps);
}
