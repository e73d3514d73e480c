/* SPDX-License-Identifier: BSD-3-Clause */

/* Capture files through libpcap, streamed, several of them merged by time. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "rx/capture_input.h"
#include "rx/filter_program.h"
#include "rx/source.h"

#define SECOND_NS INT64_C(1000000000)

struct replay_file {
	const char *path;
	unsigned int order; /* on the command line */
	pcap_t *pcap;
	struct capture_input input;
	/*
	 * The classic format has unsigned 32-bit seconds and fractions, which libpcap takes for
	 * signed ones: 2^32 seconds, and 2^32 units of the fraction in ns, to be added to negative
	 * ones. 0 for pcapng.
	 */
	int64_t wrap_seconds, wrap_ns;
	uint64_t packets;          /* read so far */
	struct source_packet head; /* the last packet read */
};

struct replay {
	struct source source; /* first: what the callers hold */
	unsigned int nb_files;
	unsigned int nb_damaged;
	/* A binary heap of the files that have a head: the earliest one is heap[0]. */
	unsigned int heap_size;
	bool head_delivered; /* heap[0] must advance before it is delivered again */
	struct replay_file **heap;
	struct replay_file files[];
};

/* What pcap_datalink() says. DLT_RAW differs between systems, and files are found with each. */
static bool link_of(int dlt, enum link_type *link)
{
	static const struct {
		int dlt;
		enum link_type link;
	} links[] = {
		{DLT_EN10MB, LINK_ETHERNET},
		{12, LINK_RAW},
		{14, LINK_RAW},
		{101, LINK_RAW},
		{DLT_IPV4, LINK_RAW},
		{DLT_IPV6, LINK_RAW},
		{DLT_NULL, LINK_NULL},
		{DLT_LOOP, LINK_NULL},
		{DLT_LINUX_SLL, LINK_SLL},
		{DLT_LINUX_SLL2, LINK_SLL2},
		{DLT_PPP, LINK_PPP},
		{DLT_C_HDLC, LINK_C_HDLC},
	};

	for (unsigned int i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (links[i].dlt == dlt) {
			*link = links[i].link;
			return true;
		}
	}
	return false;
}

/* The tool that unpacks a file whose compression is not read here, or NULL. */
static const char *unpacker_of(const struct capture_input *input)
{
	static const struct {
		uint8_t magic[CAPTURE_INPUT_MAGIC];
		unsigned int len;
		const char *tool;
	} formats[] = {
		{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, "xz"},
		{{'B', 'Z', 'h'}, 3, "bzip2"},
		{{0x28, 0xb5, 0x2f, 0xfd}, 4, "zstd"},
		{{0x04, 0x22, 0x4d, 0x18}, 4, "lz4"},
	};

	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (input->magic_len >= formats[i].len &&
			memcmp(input->magic, formats[i].magic, formats[i].len) == 0)
			return formats[i].tool;
	}
	return NULL;
}

/* Says why libpcap did not take the file at all. */
static void explain_refusal(
	const struct replay_file *file, FILE *stream, const char *reason, char *error)
{
	const struct capture_input *input = &file->input;
	const char *tool = unpacker_of(input);

	if (input->damage != NULL)
		source_error(error, "%s: %s", file->path, input->damage);
	else if (input->magic_len == 0 && !ferror(stream))
		source_error(error, "%s: is empty; a capture begins with a header", file->path);
	else if (tool != NULL)
		source_error(error,
			"%s: is compressed with %s; pipe it: %s -dc %s | sketchtap --pcap -",
			file->path, tool, tool, file->path);
	else
		source_error(error, "%s: cannot be read as pcap or pcapng: %s", file->path, reason);
}

static void note_stamps(struct replay_file *file)
{
	static const uint8_t pcapng[4] = {0x0a, 0x0d, 0x0d, 0x0a};
	static const uint8_t nanoseconds[2][4] = {
		{0xa1, 0xb2, 0x3c, 0x4d}, {0x4d, 0x3c, 0xb2, 0xa1}};
	const uint8_t *magic = file->input.magic;

	if (memcmp(magic, pcapng, 4) == 0)
		return;
	file->wrap_seconds = INT64_C(1) << 32;
	file->wrap_ns = INT64_C(1) << 32;
	if (memcmp(magic, nanoseconds[0], 4) != 0 && memcmp(magic, nanoseconds[1], 4) != 0)
		file->wrap_ns *= 1000;
}

static int64_t time_of(const struct replay_file *file, const struct pcap_pkthdr *header)
{
	int64_t seconds = header->ts.tv_sec, ns = header->ts.tv_usec;

	if (seconds < 0)
		seconds += file->wrap_seconds;
	if (ns < 0)
		ns += file->wrap_ns;
	/* A fraction beyond a second is carried: at most 2^32 us, so the sum cannot overflow. */
	if (seconds < 0)
		return 0;
	if (seconds >= SOURCE_TIME_MAX / SECOND_NS)
		return SOURCE_TIME_MAX;
	ns += seconds * SECOND_NS;
	return ns < 0 ? 0 : ns < SOURCE_TIME_MAX ? ns : SOURCE_TIME_MAX;
}

/* Reads the next packet of a file into its head. 1: there is one. 0: the end. -1: damage. */
static int advance(struct replay_file *file)
{
	struct pcap_pkthdr *header;
	const uint8_t *data;
	int status = pcap_next_ex(file->pcap, &header, &data);

	if (status != 1)
		return status == PCAP_ERROR_BREAK && file->input.damage == NULL ? 0 : -1;
	file->head.data = data;
	file->head.captured = header->caplen;
	file->head.wire_len = header->len;
	file->head.time = time_of(file, header);
	file->packets++;
	return 1;
}

static const char *damage_of(const struct replay_file *file)
{
	return file->input.damage != NULL ? file->input.damage : pcap_geterr(file->pcap);
}

static void close_file(struct replay_file *file)
{
	if (file->pcap == NULL)
		return;
	pcap_close(file->pcap); /* closes the stream too */
	capture_input_free(&file->input);
	file->pcap = NULL;
}

static bool before(const struct replay_file *a, const struct replay_file *b)
{
	return a->head.time != b->head.time ? a->head.time < b->head.time : a->order < b->order;
}

/* Restores the heap below slot `at`, whose file became later. */
static void sift_down(struct replay *replay, unsigned int at)
{
	struct replay_file *file = replay->heap[at];

	for (;;) {
		unsigned int child = 2 * at + 1;

		if (child >= replay->heap_size)
			break;
		if (child + 1 < replay->heap_size &&
			before(replay->heap[child + 1], replay->heap[child]))
			child++;
		if (!before(replay->heap[child], file))
			break;
		replay->heap[at] = replay->heap[child];
		at = child;
	}
	replay->heap[at] = file;
}

static void note_damage(struct replay *replay, const struct replay_file *file)
{
	if (replay->nb_damaged++ == 0)
		source_error(replay->source.error, "%s: damaged after %" PRIu64 " packets: %s",
			file->path, file->packets, damage_of(file));
}

/* Moves the file that was delivered last to its next packet, or out of the heap. */
static void advance_first(struct replay *replay)
{
	struct replay_file *file = replay->heap[0];
	int status = advance(file);

	if (status != 1) {
		if (status < 0)
			note_damage(replay, file);
		close_file(file);
		replay->heap[0] = replay->heap[--replay->heap_size];
	}
	if (replay->heap_size > 1)
		sift_down(replay, 0);
}

static int replay_next(struct source *source, struct source_packet *packet)
{
	struct replay *replay = (struct replay *)source;

	if (replay->head_delivered)
		advance_first(replay);
	if (replay->heap_size == 0)
		return replay->nb_damaged > 0 ? -1 : 0;
	replay->head_delivered = true;
	*packet = replay->heap[0]->head;
	return 1;
}

static double replay_progress(const struct source *source)
{
	const struct replay *replay = (const struct replay *)source;
	uint64_t consumed = 0, size = 0;

	for (unsigned int i = 0; i < replay->nb_files; i++) {
		const struct capture_input *input = &replay->files[i].input;

		if (!input->regular)
			return -1;
		consumed += atomic_load_explicit(&input->consumed, memory_order_relaxed);
		size += input->size;
	}
	return consumed < size ? (double)consumed / (double)size : 1; /* a file may have grown */
}

static bool replay_filter(struct source *source, const char *expression, struct filter_set *set)
{
	struct replay *replay = (struct replay *)source;
	char reason[FILTER_ERROR_MAX];

	for (unsigned int i = 0; i < replay->nb_files; i++) {
		struct replay_file *file = &replay->files[i];
		int program = file->pcap == NULL /* empty */
				      ? 0
				      : filter_set_add(set, file->pcap, expression, reason);

		if (program < 0) {
			source_error(source->error, "%s: --filter does not suit it: %s", file->path,
				reason);
			return false;
		}
		file->head.filter = (uint32_t)program;
	}
	return true;
}

static void replay_close(struct source *source)
{
	struct replay *replay = (struct replay *)source;

	for (unsigned int i = 0; i < replay->nb_files; i++)
		close_file(&replay->files[i]);
	free(replay->heap);
	free(replay);
}

/* libpcap meets a second interface only when it reads: a first packet that cannot be read refuses.
 */
static bool read_first(struct replay *replay, struct replay_file *file, char *error)
{
	int status = advance(file);

	if (status < 0) {
		const char *reason = damage_of(file);

		source_error(error, "%s: no packet of it can be read: %s%s", file->path, reason,
			strstr(reason, "first interface") != NULL
				? "; write each interface to a file of its own"
				: "");
		return false;
	}
	if (status == 1)
		replay->heap[replay->heap_size++] = file;
	return true;
}

static bool open_file(struct replay *replay, struct replay_file *file, char *error)
{
	char reason[PCAP_ERRBUF_SIZE];
	FILE *stream = capture_input_open(&file->input, file->path, error);
	int dlt;

	if (stream == NULL)
		return false;
	file->pcap = pcap_fopen_offline_with_tstamp_precision(
		stream, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (file->pcap == NULL) {
		explain_refusal(file, stream, reason, error);
		fclose(stream);
		capture_input_free(&file->input);
		return false;
	}
	note_stamps(file);
	dlt = pcap_datalink(file->pcap);
	if (!link_of(dlt, &file->head.link)) {
		const char *name = pcap_datalink_val_to_name(dlt);

		source_error(error,
			"%s: link type %d (%s) is not known; known are Ethernet, raw IP, NULL, "
			"LOOP, "
			"Linux SLL and SLL2, PPP and C-HDLC",
			file->path, dlt, name != NULL ? name : "no name");
		return false;
	}
	return read_first(replay, file, error);
}

static bool standard_input_twice(const char *const *paths, unsigned int nb_paths)
{
	unsigned int times = 0;

	for (unsigned int i = 0; i < nb_paths; i++)
		times += strcmp(paths[i], "-") == 0;
	return times > 1;
}

struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error)
{
	struct replay *replay = calloc(1, sizeof(*replay) + nb_paths * sizeof(replay->files[0]));

	if (replay != NULL)
		replay->heap = calloc(nb_paths, sizeof(struct replay_file *));
	if (replay == NULL || replay->heap == NULL) {
		source_error(error, "no memory to read %u files", nb_paths);
		free(replay);
		return NULL;
	}
	replay->source.next = replay_next;
	replay->source.progress = replay_progress;
	replay->source.filter = replay_filter;
	replay->source.close = replay_close;
	if (standard_input_twice(paths, nb_paths)) {
		source_error(error, "-: standard input can be read only once");
		replay_close(&replay->source);
		return NULL;
	}
	for (unsigned int i = 0; i < nb_paths; i++) {
		struct replay_file *file = &replay->files[i];

		file->path = paths[i];
		file->order = i;
		replay->nb_files++;
		if (!open_file(replay, file, error)) {
			replay_close(&replay->source);
			return NULL;
		}
	}
	for (unsigned int i = replay->heap_size / 2; i-- > 0;)
		sift_down(replay, i);
	return &replay->source;
}
