/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/loopback_test.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/histogram.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "base/units.h"
#include "parallel/sources/feeder.h"
#include "parallel/workers/node_memory.h"
#include "tester/rate_search.h"
#include "tester/return_window.h"
#include "tester/tester.h"
#include "tester/port_sender.h"
#include "rx/packet/captured.h"
#include "tester/stamp.h"
#include "rx/port/live_ports.h"
#include "rx/port/loss.h"
#include "rx/port/port_name.h"

#define RECEIVE_BURST 64
/* latest packets whose return is recorded: 2 MB of bits, or 1.6 s at 10 Mpps */
#define WINDOW        (UINT64_C(1) << 24)
/* how long to wait for packets after the last arrival (RFC 2544, section 23) */
#define PATIENCE_NS   UINT64_C(2000000000)
/* how long to wait for duplicates after every packet has returned */
#define COPIES_NS     UINT64_C(250000000)
#define TRIAL_NS      UINT64_C(5000000000) /* default duration of a trial of --find-rate */
#define FRAME_MAX     UINT16_MAX
#define TIME_MASK     ((UINT64_C(1) << STAMP_TIME_BITS) - 1)

_Static_assert(STAMP_BYTES <= SOURCE_PAYLOAD_MAX, "the source leaves room for the stamp");

struct trial {
	struct loopback_counts counts;
	uint64_t changed, routed; /* received packets, including duplicates */
	uint64_t foreign;         /* received packets without a stamp of this run */
	uint64_t bytes;
	uint64_t rate;
	uint64_t unsent;
	uint64_t missed;
	struct histogram latency;
	uint64_t shortest;
};

struct loopback {
	struct port_sender sender;
	const struct port *in;
	uint32_t interface;
	struct port_meter meter;
	struct stamp_secrets secrets;
	struct return_window window;
	uint64_t began;
	uint64_t look; /* TSC of the next check that the device exists */
	/*
	 * TSC of the last packet that was not a duplicate. Duplicates do not extend the wait at the
	 * end: a device may send any number of them.
	 */
	uint64_t came;
	uint64_t ns_per_cycle; /* 2^32 * ns per TSC cycle */
	uint64_t patience;
	bool gone;
	struct trial trial, best;
	uint8_t frame[FRAME_MAX];
};

static void stamp_packets(void *watcher, struct rte_mbuf **pkts, uint32_t n)
{
	const struct loopback *loopback = watcher;
	struct stamp stamp = {
		.number = (uint32_t)loopback->window.next,
		.time = rte_rdtsc() & TIME_MASK,
	};

	for (uint32_t i = 0; i < n; i++, stamp.number++)
		stamp_write(&loopback->secrets, &stamp, rte_pktmbuf_mtod(pkts[i], uint8_t *),
			rte_pktmbuf_data_len(pkts[i]));
}

static void number_packets(void *watcher, uint32_t n)
{
	struct loopback *loopback = watcher;

	return_window_sent(&loopback->window, n);
}

/* Returns NULL if the frame is longer than any sent frame. */
static const uint8_t *whole_frame(struct loopback *loopback, const struct rte_mbuf *mbuf)
{
	if (mbuf->nb_segs > 1 && rte_pktmbuf_pkt_len(mbuf) > FRAME_MAX)
		return NULL;
	return mbuf_read(mbuf, 0, rte_pktmbuf_pkt_len(mbuf), loopback->frame);
}

static void take_latency(struct trial *trial, uint64_t ns)
{
	if (trial->latency.n == 0 || ns < trial->shortest)
		trial->shortest = ns;
	histogram_add(&trial->latency, ns, 1);
}

static void compare(struct trial *trial, enum stamp_content content)
{
	trial->changed += content == STAMP_CHANGED;
	trial->routed += content == STAMP_ROUTED;
}

/* now: TSC of the rx burst. Returns false if the packet has no stamp of this run. */
static bool take_packet(struct loopback *loopback, const struct rte_mbuf *mbuf, uint64_t now)
{
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	const uint8_t *frame = whole_frame(loopback, mbuf);
	struct trial *trial = &loopback->trial;
	enum return_kind kind;
	struct stamp stamp;
	uint64_t age;

	if (frame == NULL || !stamp_read(&loopback->secrets, &stamp, frame, length))
		return false;
	age = (now - stamp.time) & TIME_MASK;
	if (age > now - loopback->began)
		return false;
	kind = return_window_take(&loopback->window, stamp.number);
	if (kind == RETURN_NONE)
		return false;
	if (kind == RETURN_FIRST) {
		take_latency(trial, (uint64_t)((__uint128_t)age * loopback->ns_per_cycle >> 32));
		loopback->came = now;
	}
	if (kind != RETURN_LATE)
		compare(trial, stamp_compare(&loopback->secrets, &stamp, frame, length));
	return true;
}

static void look_for_device(struct loopback *loopback, uint64_t now)
{
	struct kernel_interface interface;

	if (now < loopback->look || loopback->gone)
		return;
	loopback->look = now + rte_get_tsc_hz();
	loopback->gone = port_is_leaving(loopback->in) ||
			 (loopback->interface != 0 && kernel_interface_read(loopback->interface,
							      &interface) == KERNEL_GONE);
	if (loopback->gone)
		signals_request_stop();
}

static void receive(void *watcher)
{
	struct loopback *loopback = watcher;
	struct rte_mbuf *pkts[RECEIVE_BURST];
	uint16_t n = rte_eth_rx_burst(loopback->in->id, 0, pkts, RECEIVE_BURST);
	uint64_t now = rte_rdtsc();

	if (n == 0) {
		look_for_device(loopback, now);
		return;
	}
	for (uint16_t i = 0; i < n; i++)
		if (!take_packet(loopback, pkts[i], now))
			loopback->trial.foreign++;
	rte_pktmbuf_free_bulk(pkts, n);
}

static const struct port_sender_watch watch = {
	.depart = stamp_packets,
	.departed = number_packets,
	.meanwhile = receive,
};

static uint64_t missed_so_far(struct loopback *loopback)
{
	static const enum port_column columns[] = {PORT_MISSED, PORT_ERRORS, PORT_NO_MBUF};
	uint64_t sum = 0;

	port_meter_read(&loopback->meter);
	for (size_t i = 0; i < RTE_DIM(columns); i++)
		sum += port_meter_count(&loopback->meter, columns[i]);
	return sum;
}

static void await_rest(struct loopback *loopback)
{
	const struct loopback_counts *counts = &loopback->window.counts;
	bool stopped = signals_stop_requested();
	uint64_t sent = rte_rdtsc();

	for (;;) {
		bool all = counts->returned == counts->sent;
		uint64_t quiet = all ? RTE_MIN(COPIES_NS, loopback->patience) : loopback->patience;

		receive(loopback);
		if (loopback->gone || signals_stop_requested() != stopped ||
			port_sender_clock_since(RTE_MAX(sent, loopback->came)) >= quiet)
			return;
	}
}

static void run_trial(struct loopback *loopback, const struct feeder_options *limits)
{
	struct port_sender *sender = &loopback->sender;
	struct trial *trial = &loopback->trial;
	uint64_t missed = missed_so_far(loopback);

	memset(trial, 0, sizeof(*trial));
	return_window_begin(&loopback->window);
	sender->source->restart(sender->source, STAMP_BYTES);
	port_sender_send(sender, limits);
	trial->bytes = sender->bytes;
	trial->unsent = port_sender_drain(sender);
	await_rest(loopback);
	trial->counts = loopback->window.counts;
	trial->missed = missed_so_far(loopback) - missed;
	if (sender->took > 0 && trial->counts.sent > 1)
		trial->rate = (uint64_t)((__uint128_t)(trial->counts.sent - 1) * rte_get_tsc_hz() /
					 sender->took);
}

static uint64_t lost_of(const struct trial *trial)
{
	return trial->counts.sent - trial->counts.returned;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void log_latency(const struct trial *trial)
{
	const struct histogram *latency = &trial->latency;

	if (latency->n == 0)
		return;
	log_notice("latency in us: min %.3f, p50 %.3f, p90 %.3f, p99 %.3f, p99.9 %.3f, max %.3f",
		(double)trial->shortest / 1000, (double)histogram_quantile(latency, 0.5) / 1000,
		(double)histogram_quantile(latency, 0.9) / 1000,
		(double)histogram_quantile(latency, 0.99) / 1000,
		(double)histogram_quantile(latency, 0.999) / 1000, (double)latency->max / 1000);
}

static void warn_own_losses(const struct loopback *loopback, const struct trial *trial)
{
	if (trial->missed > 0)
		log_warning("--rx-port %s: %" PRIu64
			    " packets were lost by this port: its ring was full, "
			    "or packets were damaged; lower --pace",
			loopback->in->name, trial->missed);
	if (trial->unsent > 0 && lost_of(trial) > 0)
		log_warning("--port %s: at least %" PRIu64
			    " of the lost packets were not sent: the "
			    "interface is down, or drops them; see ip -s link show %s",
			loopback->sender.port->name, RTE_MIN(trial->unsent, lost_of(trial)),
			loopback->sender.port->interface);
}

static void log_trial(const struct loopback *loopback, const struct trial *trial)
{
	const struct loopback_counts *counts = &trial->counts;

	log_notice("sent %" PRIu64 " packets, %" PRIu64 " bytes, at %" PRIu64 " packets/s",
		counts->sent, trial->bytes, trial->rate);
	log_notice("returned %" PRIu64 ", lost %" PRIu64 " (%.4g %%), out of order %" PRIu64
		   ", twice %" PRIu64 ", changed %" PRIu64 ", routed %" PRIu64 ", late %" PRIu64
		   ", foreign %" PRIu64,
		counts->returned, lost_of(trial), percent(lost_of(trial), counts->sent),
		counts->out_of_order, counts->twice, trial->changed, trial->routed, counts->late,
		trial->foreign);
	log_latency(trial);
	warn_own_losses(loopback, trial);
}

/* If a device failed, the counts are meaningless. */
static bool log_faults(const struct loopback *loopback, const struct trial *trial)
{
	const struct port *out = loopback->sender.port;

	if (port_sender_is_gone(&loopback->sender))
		log_error("--port %s: device removed", out->name);
	else if (loopback->gone)
		log_error("--rx-port %s: device removed", loopback->in->name);
	else if (trial->counts.sent > 0 && trial->unsent >= trial->counts.sent)
		log_error("--port %s: no packet was sent: its interface is down", out->name);
	else
		return false;
	return true;
}

static void log_step(const struct rate_search *search, const struct trial *trial, bool passed)
{
	log_notice("trial %u: %" PRIu64 " packets at %" PRIu64 " packets/s, %" PRIu64
		   " lost (%.4g %%): %s",
		search->trials, trial->counts.sent, trial->rate, lost_of(trial),
		percent(lost_of(trial), trial->counts.sent), passed ? "passed" : "failed");
}

static void log_found(
	const struct rate_search *search, const struct loopback *loopback, bool stopped)
{
	const char *why = stopped ? "; the search was interrupted"
			  : search->high > 0
				  ? ""
				  : "; the device may support more: this was the highest rate sent";

	if (search->low == 0) {
		log_notice("no rate found with at most %.4g %% of packets lost%s",
			search->loss * 100, stopped ? why : "");
		return;
	}
	log_notice("highest rate with at most %.4g %% of packets lost: %" PRIu64 " packets/s%s",
		search->loss * 100, loopback->best.rate, why);
	log_trial(loopback, &loopback->best);
}

static bool find_rate(struct loopback *loopback, const struct config *config)
{
	struct feeder_options limits = *feeder_options(config);
	struct rate_search search;
	bool stopped = false;

	if (limits.duration == 0 && limits.packets == 0)
		limits.duration = TRIAL_NS;
	loopback->sender.again = true;
	rate_search_init(&search, loopback_options(config)->find.loss, limits.pace_rate);
	while (rate_search_goes_on(&search)) {
		uint64_t low = search.low;
		bool passed;

		limits.pace = search.asked > 0 ? PACE_RATE : PACE_UNPACED;
		limits.pace_rate = search.asked;
		run_trial(loopback, &limits);
		if (log_faults(loopback, &loopback->trial))
			return false;
		stopped = signals_stop_requested();
		if (stopped)
			break;
		passed = rate_search_report(&search, loopback->trial.counts.sent,
			lost_of(&loopback->trial), loopback->trial.rate);
		log_step(&search, &loopback->trial, passed);
		if (search.low > low)
			loopback->best = loopback->trial;
	}
	log_found(&search, loopback, stopped);
	return true;
}

/* Returns NULL with *status 0 if there is no --output. */
static FILE *open_histogram(const struct config *config, int *status)
{
	const char *output = send_options(config)->output;
	char error[SOURCE_ERROR_MAX];
	FILE *file = NULL;
	int fd;

	*status = 0;
	if (output == NULL)
		return NULL;
	if (!config_spares_inputs(config, "--output", output, -1, error, sizeof(error))) {
		log_error("%s", error);
		*status = 2;
		return NULL;
	}
	fd = strcmp(output, "-") == 0 ? dup(STDOUT_FILENO)
				      : regular_file_create(output, send_options(config)->force);
	if (fd >= 0)
		file = fdopen(fd, "w");
	if (file != NULL)
		return file;
	*status = errno == EEXIST ? 2 : 1;
	if (errno == EEXIST)
		log_error("%s: exists; --force overwrites it", output);
	else
		log_error("%s: cannot open: %s", output, file_error(errno));
	return NULL;
}

static bool write_histogram(FILE *file, const char *output, const struct histogram *latency)
{
	int error = 0;

	fprintf(file, "from_ns,to_ns,packets\n");
	for (uint32_t step = 0; step < HISTOGRAM_SIZE; step++)
		if (latency->counts[step] > 0)
			fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
				step > 0 ? histogram_value(step - 1) + 1 : 0, histogram_value(step),
				latency->counts[step]);
	if (fflush(file) != 0)
		error = errno;
	if (fclose(file) != 0 && error == 0)
		error = errno;
	if (error != 0 && error != EPIPE)
		log_error("%s: cannot write: %s", output, strerror(error));
	return error == 0;
}

void loopback_log_error(const char *error)
{
	static const char port[] = "--port ";
	bool is_of_port = strncmp(error, port, strlen(port)) == 0;

	log_error("%s%s", is_of_port ? "--rx-port " : "", error + (is_of_port ? strlen(port) : 0));
}

static bool start_ports(
	struct loopback *loopback, const struct plan *plan, struct port *ports, uint32_t nb_ports)
{
	struct rte_mempool *pool = loopback->sender.pool;
	struct port *in = &ports[nb_ports - 1];
	char error[PORT_ERROR_MAX];

	in->send_queues = nb_ports == 1;
	for (uint32_t p = 0; p < nb_ports; p++) {
		if (port_start(&ports[p], &ports[p] == in, plan->ports[p].descriptors, pool, error))
			continue;
		if (p > 0)
			loopback_log_error(error);
		else
			log_error("%s", error);
		return false;
	}
	live_ports_say(in);
	if (in->interface[0] != '\0' && !port_is_pci(in->device))
		loopback->interface = if_nametoindex(in->interface);
	port_meter_start(&loopback->meter, in, NULL, 0);
	return true;
}

static bool begin(struct loopback *loopback, const struct config *config, struct source *source)
{
	uint64_t linger = send_options(config)->linger, seed;

	if (!return_window_init(&loopback->window, WINDOW, 0) ||
		getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
		log_error("out of memory for packet numbers");
		return false;
	}
	stamp_secrets_init(&loopback->secrets, seed);
	loopback->sender.source = source;
	loopback->sender.watch = &watch;
	loopback->sender.watcher = loopback;
	loopback->ns_per_cycle = (uint64_t)(((__uint128_t)SECOND_NS << 32) / rte_get_tsc_hz());
	loopback->patience = linger > 0 ? linger : PATIENCE_NS;
	loopback->began = loopback->came = loopback->look = rte_rdtsc();
	return true;
}

static int measure(struct loopback *loopback, const struct config *config)
{
	const struct trial *told = &loopback->trial;
	int status;
	FILE *file = open_histogram(config, &status);

	if (status != 0)
		return status;
	if (loopback_options(config)->find.asked) {
		status = find_rate(loopback, config) ? 0 : 1;
		told = &loopback->best;
	} else {
		run_trial(loopback, feeder_options(config));
		log_trial(loopback, told);
		status = log_faults(loopback, told) ? 1 : 0;
	}
	if (file != NULL && !write_histogram(file, send_options(config)->output, &told->latency))
		status = 1;
	return status;
}

int loopback_measure(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports)
{
	static struct loopback loopback;
	const struct plan_group *group = &plan->groups[plan->ports[0].group];
	uint32_t room = port_mbuf_room(&ports[nb_ports - 1], plan->mbuf_room);
	int status = 1;

	loopback.sender.port = &ports[0];
	loopback.in = &ports[nb_ports - 1];
	loopback.sender.pool =
		pool_create("sender", group->mbufs, plan->mbuf_cache, room, group->memory_node);
	if (loopback.sender.pool == NULL)
		log_error("out of memory for %u mbufs of %u bytes: %s; lower mbufs", group->mbufs,
			room, rte_strerror(rte_errno));
	else if (start_ports(&loopback, plan, ports, nb_ports) && begin(&loopback, config, source))
		status = measure(&loopback, config);
	return_window_fini(&loopback.window);
	ports_close(ports, nb_ports);
	rte_mempool_free(loopback.sender.pool);
	return status;
}

static const char *inapplicable_without_port(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return port_given(config) ? NULL : "without --port";
}

static const char *inapplicable_without_return(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return loopback_options(config)->port != NULL ? NULL : "without --rx-port";
}

static bool read_find(const struct option_text *text)
{
	struct loopback_find *find = text->field;
	double loss;

	if (units_fraction(text->text, &loss) != NULL || loss >= 1)
		return option_set_error(text, "not a share below 1; examples: 0, 0.001, 0.1%%");
	*find = (struct loopback_find){.asked = true, .loss = loss};
	return true;
}

static bool check_returned(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	if (loopback_options(config)->port == NULL)
		return true;
	if (config_asks(config, measurement, "as"))
		return option_fault(fault, "export-format", measurement,
			"contradicts --rx-port, which measures packets of the traffic; give one of "
			"the two");
	if (loopback_options(config)->port[0] == ',')
		return option_fault(fault, "rx-port", measurement,
			"'%.200s': no name; write NAME[,DEVARGS]", loopback_options(config)->port);
	if (loopback_options(config)->find.asked && feeder_options(config)->pace == PACE_RECORDED)
		return option_fault(fault, "pace", measurement,
			"contradicts --find-rate, which sets the rate; give the highest rate to "
			"try");
	if (loopback_options(config)->find.asked && feeder_options(config)->packets == 1)
		return option_fault(fault, "packets", measurement,
			"contradicts --find-rate: one packet has no rate");
	return true;
}

static const struct option_row returned_rows[] = {
	{
		.name = "rx-port",
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		.inapplicable = inapplicable_without_port,
		OPTION_FIELD(loopback_options, port),
		.former = "return",
		.help = "Receive the sent packets on this port. Report loss, order, duplicates, "
			"changes and latency. Use the same port for a loop.",
		.man = "Each packet carries a sequence number and a timestamp. The key linger "
		       "sets how long to wait for the last packets, by default 2s.",
	},
	{
		.name = "find-rate",
		.placeholder = "LOSS",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_OWN,
		.inapplicable = inapplicable_without_return,
		.read = read_find,
		OPTION_FIELD(loopback_options, find),
		.default_note = "one trial",
		.help = "Find the highest rate, within 1%, that loses at most this share of "
			"packets. Examples: 0, 0.001, 0.1%. A trial lasts --duration, by default "
			"5s. --pace is the highest rate to try.",
	},
	{0},
};

const struct option_owner loopback_owner = {
	.rows = returned_rows,
	.size = sizeof(struct loopback_options),
	.check = check_returned,
};
