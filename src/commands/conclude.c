/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "base/assertion.h"
#include "base/log.h"

void conclude_log(bool warning, const char *line, void *arg)
{
	(void)arg;
	if (warning)
		log_warning("%s", line);
	else
		log_notice("%s", line);
}

static bool lost_too_much(const struct config *config, const struct reporter_result *result)
{
	const struct ledger *sum = &result->sum;
	double rate = ledger_drop_rate(sum);

	if (rate <= ledger_options(config)->max_loss)
		return false;
	log_error("lost %s%llu of %llu packets (%.4g %%), more than --max-loss %.4g %%; the worst "
		  "interval is %llu (%.4g %%)",
		sum->losses_unknown ? "at least " : "", (unsigned long long)ledger_lost(sum),
		(unsigned long long)sum->offered, rate * 100,
		ledger_options(config)->max_loss * 100, (unsigned long long)result->worst_epoch,
		result->worst_rate * 100);
	return true;
}

static bool skipped_too_much(const struct config *config, const struct ledger *sum)
{
	double share = sum->offered > 0 ? (double)sum->skipped / (double)sum->offered : 0;

	if (share <= ledger_options(config)->max_skip)
		return false;
	log_error("did not process %llu of %llu packets (%.4g %%), more than max-skip %.4g %%",
		(unsigned long long)sum->skipped, (unsigned long long)sum->offered, share * 100,
		ledger_options(config)->max_skip * 100);
	return true;
}

void conclude_log_ledger(const struct reporter_result *result)
{
	struct ledger sum = result->sum;
	bool lost = ledger_lost(&sum) > 0 || sum.doubtful > 0 || sum.unaccounted > 0;
	struct text text = {0};

	for (uint32_t i = 0; !result->several && i < result->nb_shed; i++) {
		sum.shed += result->shed[i].packets;
		sum.measured -= result->shed[i].packets;
	}
	ledger_sentence(&text, &sum, result->epochs);
	for (uint32_t i = 0; i < result->nb_shed; i++) {
		lost = true;
		if (result->several)
			text_printf(&text, "; %s: %llu shed", result->shed[i].name,
				(unsigned long long)result->shed[i].packets);
	}
	if (result->generated && sum.received > 0 && result->wall > 0)
		text_printf(&text,
			"; processed %.3f Mpps in %.3f s, %.3f s of CPU (generated timestamps)",
			(double)sum.received / (double)result->wall * 1e3,
			(double)result->wall / 1e9, (double)result->cpu / 1e9);
	text_char(&text, '\0');
	if (!text.failed)
		conclude_log(lost, text.data, NULL);
	text_free(&text);
}

/* Returns false if the forwarded packets differ from the counters of the devices. */
static bool log_forwarded(const struct forwarded_sum *sum)
{
	struct text text = {0};

	if (sum->unaccounted > 0)
		log_error("%llu packets are unaccounted for: devices accepted them, but their "
			  "counters of sent packets differ",
			(unsigned long long)sum->unaccounted);
	forwarded_sentence(&text, sum);
	text_char(&text, '\0');
	if (!text.failed)
		conclude_log(forwarded_unsent(&sum->of_all) > 0, text.data, NULL);
	text_free(&text);
	return sum->unaccounted == 0;
}

int conclude_run(const struct run *run, const struct reporter_result *result, uint64_t lost_rows)
{
	const char *damage = run->feeder != NULL ? feeder_damage(run->feeder) : NULL;
	char warning[SOURCE_ERROR_MAX];
	bool failed = damage != NULL || result->sum.unaccounted > 0 || lost_rows > 0 ||
		      result->out_of_memory || result->port_gone;

	VERIFY(result->nb_shed, <=, CONFIG_MEASUREMENTS_MAX + 1);
	if (run->ops->finish != NULL)
		failed |= !run->ops->finish(run->source);
	failed |= lost_too_much(run->config, result);
	if (shed_policy_given(run->config))
		failed |= skipped_too_much(run->config, &result->sum);
	for (unsigned int i = 0; run->feeder != NULL && feeder_warning(run->feeder, i, warning);
		i++)
		log_warning("%s", warning);
	if (damage != NULL)
		log_error("%s", damage);
	if (result->sum.unaccounted > 0)
		log_error("%llu of %llu packets are unaccounted for: the ledger does not balance",
			(unsigned long long)result->sum.unaccounted,
			(unsigned long long)result->sum.offered);
	if (lost_rows > 0)
		log_error("%llu rows could not be written", (unsigned long long)lost_rows);
	if (result->sum.collected && result->sum.received == 0)
		log_warning("no flow records counted; --exporters FILE shows why");
	if (result->forwards)
		failed |= !log_forwarded(&result->forwarded);
	conclude_log_ledger(result);
	return failed ? EXIT_MACHINE : 0;
}
