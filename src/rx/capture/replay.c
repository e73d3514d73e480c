/* SPDX-License-Identifier: BSD-3-Clause */

/* Source that merges the packets of capture files by time */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "base/assertion.h"
#include "rx/capture/capture_input.h"
#include "rx/capture/pcap_file.h"
#include "rx/filter/filter_program.h"
#include "rx/capture/pcapng.h"
#include "rx/source.h"
#include "config/config.h"

/* Filter program of a link type that is unknown, or for which the filter does not compile */
#define NOT_SUITED (-1)

/* Packets of a link type that cannot be measured */
struct left_out {
	const char *path;     /* first file with such packets */
	int link_type_number; /* -1: all further link types */
	/* First interface with such packets in the file `path`; -1: classic pcap format */
	int interface;
	bool other_interfaces, other_files;
	bool filter; /* false: unknown link type; true: the filter does not compile for it */
	uint64_t packets;
};

#define LEFT_OUT_MAX 32

struct replay_file {
	const char *path;
	unsigned int order; /* position on the command line */
	bool open;
	struct capture_input input;
	struct pcapng *pcapng; /* NULL: classic pcap format */
	struct pcap_file pcap;
	struct pcapng_interface only;             /* interface of a classic pcap file */
	const struct pcapng_interface *interface; /* interface of the last packet; NULL: none yet */
	uint64_t packets;
	struct source_packet head; /* next packet, read ahead to merge by time */
};

struct replay {
	struct source source; /* first member: cast to struct replay */
	unsigned int nb_files;
	unsigned int nb_damaged;
	/* Binary heap of the files that have a packet left. heap[0] has the earliest packet. */
	unsigned int heap_size;
	bool head_delivered; /* next() has returned the head of heap[0] */
	/*
	 * Indexed by link kind (rx/packet/link_type.h): filter program or NOT_SUITED; 0: no filter
	 */
	int programs[LINK_KINDS + 1];
	int no_match; /* program that matches no packet; 0: no filter */
	unsigned int nb_left_out;
	struct left_out left_out[LEFT_OUT_MAX];
	struct replay_file **heap;
	struct replay_file files[];
};

static bool begins_with(struct capture_input *input, const uint8_t *bytes, size_t len)
{
	return capture_input_have(input, len) == len && memcmp(input->at, bytes, len) == 0;
}

static const char *unpacker_of(struct capture_input *input)
{
	static const struct {
		uint8_t magic[6];
		unsigned int len;
		const char *tool;
	} formats[] = {
		{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, "xz"},
		{{'B', 'Z', 'h'}, 3, "bzip2"},
		{{0x28, 0xb5, 0x2f, 0xfd}, 4, "zstd"},
		{{0x04, 0x22, 0x4d, 0x18}, 4, "lz4"},
	};

	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (begins_with(input, formats[i].magic, formats[i].len))
			return formats[i].tool;
	return NULL;
}

static void explain_refusal(struct replay_file *file, char *error)
{
	struct capture_input *input = &file->input;
	const char *tool = unpacker_of(input);
	size_t len = capture_input_have(input, sizeof(uint32_t));

	if (input->damage != NULL)
		source_error(error, "%s: %s", file->path, input->damage);
	else if (input->failure != 0)
		source_error(error, "%s: cannot read: %s", file->path, strerror(input->failure));
	else if (len == 0)
		source_error(error, "%s: is empty; a capture begins with a header", file->path);
	else if (tool != NULL)
		source_error(error,
			"%s: is compressed with %s; pipe it: %s -dc %s | sketchtap --pcap -",
			file->path, tool, tool, file->path);
	else
		source_error(error, "%s: not a pcap or pcapng file", file->path);
}

static void leave_out_fcs(struct source_packet *packet, uint32_t fcs_bytes)
{
	if (fcs_bytes == 0 || packet->captured > packet->wire_len)
		return;
	packet->wire_len -= fcs_bytes < packet->wire_len ? fcs_bytes : packet->wire_len;
	packet->snaplen -= fcs_bytes < packet->snaplen ? fcs_bytes : 0;
	if (packet->captured > packet->wire_len)
		packet->captured = packet->wire_len;
}

/* The last of LEFT_OUT_MAX counters takes all further link types. */
static uint64_t *left_out_counter(struct replay *replay, const struct left_out *like)
{
	struct left_out *at = replay->left_out, *last = &replay->left_out[LEFT_OUT_MAX - 1];

	for (; at < replay->left_out + replay->nb_left_out; at++) {
		if (at != last && (at->link_type_number != like->link_type_number ||
					  at->filter != like->filter))
			continue;
		at->other_files |= at->path != like->path;
		at->other_interfaces |= at->interface != like->interface;
		return &at->packets;
	}
	*at = *like;
	if (at == last)
		at->link_type_number = -1;
	replay->nb_left_out++;
	return &at->packets;
}

static uint64_t *leave_out(struct replay *replay, const struct replay_file *file,
	const struct pcapng_interface *interface)
{
	struct left_out like = {.path = file->path,
		.link_type_number = interface->link_type_number,
		.interface = file->pcapng != NULL ? (int)interface->number : -1,
		.filter = interface->link != LINK_UNKNOWN};

	return left_out_counter(replay, &like);
}

static void classify(
	struct replay *replay, const struct replay_file *file, struct source_packet *packet)
{
	const struct pcapng_interface *interface = file->interface;
	int program = replay->programs[interface->kind];

	packet->link = interface->link;
	packet->filter = (uint32_t)program;
	packet->left_out = NULL;
	if (__builtin_expect(program < 0, 0)) {
		packet->filter = (uint32_t)replay->no_match;
		packet->left_out = leave_out(replay, file, interface);
	}
}

static int advance_pcapng(struct replay_file *file, struct source_packet *to)
{
	struct pcapng_packet packet;
	int status = pcapng_next(file->pcapng, &packet);

	if (status <= 0)
		return status;
	to->data = packet.data;
	to->captured = packet.captured;
	to->wire_len = packet.wire_len;
	to->snaplen = packet.interface->snaplen;
	to->time = packet.time;
	leave_out_fcs(to, packet.fcs_bytes);
	file->interface = packet.interface;
	return 1;
}

static int advance_classic(struct replay_file *file, struct source_packet *to)
{
	int status = pcap_file_next(&file->pcap, to);

	if (status > 0)
		leave_out_fcs(to, file->pcap.fcs_bytes);
	return status;
}

/* Returns 1 if a packet was read, 0 at the end, -1 if the file is damaged. */
static int advance(struct replay *replay, struct replay_file *file, struct source_packet *to)
{
	int status = file->pcapng != NULL ? advance_pcapng(file, to) : advance_classic(file, to);

	if (status <= 0)
		return file->input.damage == NULL ? status : -1;
	to->in_port = (uint16_t)file->order;
	classify(replay, file, to);
	file->packets++;
	return 1;
}

static const char *damage_of(const struct replay_file *file)
{
	if (file->input.damage != NULL)
		return file->input.damage;
	return file->pcapng != NULL ? pcapng_error(file->pcapng) : file->pcap.error;
}

static void close_file(struct replay_file *file)
{
	if (!file->open)
		return;
	pcapng_destroy(file->pcapng);
	capture_input_close(&file->input);
	file->pcapng = NULL;
	file->open = false;
}

static bool before(const struct replay_file *a, const struct replay_file *b)
{
	return a->head.time != b->head.time ? a->head.time < b->head.time : a->order < b->order;
}

/* Restores the heap order after the head of heap[at] became later. */
static void sift_down(struct replay *replay, unsigned int at)
{
	struct replay_file *file = replay->heap[at];

	ASSERT(at, <, replay->heap_size);
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

static void end_first(struct replay *replay, bool damaged)
{
	struct replay_file *file = replay->heap[0];

	if (damaged)
		note_damage(replay, file);
	close_file(file);
	replay->heap[0] = replay->heap[--replay->heap_size];
}

static bool is_first(const struct replay *replay)
{
	for (unsigned int child = 1; child <= 2 && child < replay->heap_size; child++)
		if (before(replay->heap[child], replay->heap[0]))
			return false;
	return true;
}

static int replay_next(struct source *source, struct source_packet *packet)
{
	struct replay *replay = (struct replay *)source;

	if (replay->head_delivered) {
		struct replay_file *first = replay->heap[0];
		int status = advance(replay, first, packet);

		if (status == 1) {
			/*
			 * If the time comes first, a copy of `head` would load 64 bits right after
			 * narrow stores, and stall.
			 */
			first->head.time = packet->time;
			if (is_first(replay))
				return 1;
			first->head = *packet;
		} else {
			end_first(replay, status < 0);
		}
		if (replay->heap_size > 1)
			sift_down(replay, 0);
	}
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
	return consumed < size ? (double)consumed / (double)size : 1; /* the file may have grown */
}

/* libpcap compiles only for an open capture. Returns NULL if out of memory. */
static pcap_t *empty_capture(int kind)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t unused[2];
		uint32_t snaplen, link;
	} header = {0xa1b2c3d4, 2, 4, {0}, PACKET_BYTES_MAX, (uint32_t)link_kind_number(kind)};
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = NULL;
	FILE *stream;

	if (kind % 2 != 0) {
		header.magic = __builtin_bswap32(header.magic);
		header.major = __builtin_bswap16(header.major);
		header.minor = __builtin_bswap16(header.minor);
		header.snaplen = __builtin_bswap32(header.snaplen);
		header.link = __builtin_bswap32(header.link);
	}
	stream = fmemopen(&header, sizeof(header), "rb");
	if (stream != NULL)
		pcap = pcap_fopen_offline(stream, error);
	if (pcap == NULL && stream != NULL)
		fclose(stream);
	return pcap;
}

static int compile_for_kind(int kind, const char *expression, struct filter_set *set, char *reason)
{
	pcap_t *pcap = empty_capture(kind);
	int program;

	if (pcap == NULL) {
		snprintf(reason, FILTER_ERROR_MAX, "out of memory");
		return -1;
	}
	program = filter_set_add(set, pcap, expression, reason);
	pcap_close(pcap);
	return program;
}

#define NOT_COMPILED (-2)

/* If the expression does not compile for this link kind, each call sets `reason`. */
static bool suits(struct replay *replay, int kind, const char *expression, struct filter_set *set,
	char *reason)
{
	int *program = &replay->programs[kind];

	if (*program < 0)
		*program = compile_for_kind(kind, expression, set, reason);
	return *program >= 0;
}

/*
 * Returns true if a pcapng file has an interface of one of these link kinds. Reads the file again,
 * so the result is false for pipes.
 */
static bool describes(const struct replay_file *file, uint32_t kinds)
{
	const char *path = strcmp(file->path, "-") == 0 ? "/dev/stdin" : file->path;
	struct pcapng_packet packet;
	char error[SOURCE_ERROR_MAX];
	struct capture_input input;
	struct pcapng *pcapng;
	bool found = false;

	if (file->pcapng == NULL || !file->input.regular ||
		!capture_input_open(&input, path, error))
		return false;
	pcapng = pcapng_is(&input) ? pcapng_create(&input) : NULL;
	if (pcapng != NULL) {
		while (!found && pcapng_next(pcapng, &packet) > 0)
			found = (pcapng_kinds(pcapng) & kinds) != 0;
		found |= (pcapng_kinds(pcapng) & kinds) != 0;
	}
	pcapng_destroy(pcapng);
	capture_input_close(&input);
	return found;
}

static bool one_describes(const struct replay *replay, uint32_t kinds)
{
	for (unsigned int i = 0; i < replay->nb_files; i++)
		if (describes(&replay->files[i], kinds))
			return true;
	return false;
}

static uint32_t kinds_of(const struct replay_file *file)
{
	if (file->pcapng != NULL)
		return pcapng_kinds(file->pcapng);
	return file->only.link == LINK_UNKNOWN ? 0 : UINT32_C(1) << file->only.kind;
}

/*
 * Returns a bit for each link kind for which the expression compiles. In pcapng, interfaces of any
 * kind may follow. If the expression does not compile for an interface that was already read, sets
 * `reason`.
 */
static uint32_t filter_file(struct replay *replay, struct replay_file *file, const char *expression,
	struct filter_set *set, char *reason)
{
	uint32_t kinds = kinds_of(file), suited = 0;

	for (int kind = 0; kind < LINK_KINDS; kind++) {
		bool described = kinds >> kind & 1;
		char ignored[FILTER_ERROR_MAX];

		if ((described || file->pcapng != NULL) &&
			suits(replay, kind, expression, set, described ? reason : ignored))
			suited |= UINT32_C(1) << kind;
	}
	return suited;
}

static bool replay_filter(struct source *source, const char *expression, struct filter_set *set)
{
	struct replay *replay = (struct replay *)source;
	uint32_t described = 0, suited = 0;
	const char *unsuited = NULL;
	char reason[FILTER_ERROR_MAX] = "";

	for (int kind = 0; kind < LINK_KINDS; kind++)
		replay->programs[kind] = NOT_COMPILED;
	for (unsigned int i = 0; i < replay->nb_files; i++) {
		struct replay_file *file = &replay->files[i];

		described |= kinds_of(file);
		suited |= filter_file(replay, file, expression, set,
			unsuited == NULL ? reason : (char[FILTER_ERROR_MAX]){0});
		if (unsuited == NULL && reason[0] != '\0')
			unsuited = file->path;
	}
	if (unsuited != NULL && (suited & described) == 0 && !one_describes(replay, suited)) {
		source_error(source->error, "%s: --filter does not apply: %s", unsuited, reason);
		return false;
	}
	replay->no_match = filter_set_add_nothing(set, reason);
	if (replay->no_match < 0) {
		source_error(source->error, "--filter: %s", reason);
		return false;
	}
	for (unsigned int i = 0; i < replay->heap_size; i++)
		classify(replay, replay->heap[i], &replay->heap[i]->head);
	return true;
}

static bool replay_warning(const struct source *source, unsigned int i, char *text)
{
	const struct replay *replay = (const struct replay *)source;
	const struct left_out *at = replay->left_out, *end = at + replay->nb_left_out;
	char name[LINK_TYPE_TEXT_MAX] = "other link types", interface[40] = "";

	while (at < end && (at->packets == 0 || i-- > 0))
		at++;
	if (at == end)
		return false;
	if (at->link_type_number >= 0)
		link_type_name(at->link_type_number, name);
	if (at->interface >= 0)
		snprintf(interface, sizeof(interface), " of interface %d%s", at->interface,
			at->other_interfaces ? " and others" : "");
	source_error(text, "%s%s: %s%s: %s: %" PRIu64 " packet%s not measured", at->path,
		at->other_files ? " and other files" : "", name, interface,
		at->filter ? "--filter does not apply" : "not supported", at->packets,
		at->packets == 1 ? "" : "s");
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

static bool read_first(struct replay *replay, struct replay_file *file, char *error)
{
	int status = advance(replay, file, &file->head);

	if (status < 0) {
		source_error(error, "%s: no readable packet: %s", file->path, damage_of(file));
		return false;
	}
	if (status == 1)
		replay->heap[replay->heap_size++] = file;
	return true;
}

static bool open_pcapng(struct replay_file *file, char *error)
{
	file->pcapng = pcapng_create(&file->input);
	if (file->pcapng != NULL)
		return true;
	source_error(error, "%s: out of memory", file->path);
	return false;
}

static bool open_classic(struct replay_file *file, char *error)
{
	int kind;

	if (!pcap_file_begin(&file->pcap, &file->input)) {
		source_error(error, "%s: %s", file->path, damage_of(file));
		return false;
	}
	kind = link_kind_find(file->pcap.link_type_number, file->pcap.swapped);
	file->only = (struct pcapng_interface){
		.link_type_number = file->pcap.link_type_number,
		.kind = kind,
		.link = link_kind_type(kind),
	};
	file->interface = &file->only;
	return true;
}

static bool open_format(struct replay_file *file, char *error)
{
	if (pcapng_is(&file->input))
		return open_pcapng(file, error);
	if (pcap_file_is(&file->input))
		return open_classic(file, error);
	explain_refusal(file, error);
	return false;
}

static bool open_file(struct replay *replay, struct replay_file *file, char *error)
{
	file->open = capture_input_open(&file->input, file->path, error);
	return file->open && open_format(file, error) && read_first(replay, file, error);
}

/* In pcapng, an unknown interface without packets has no effect. */
static bool is_unknown(const struct replay_file *file)
{
	return file->interface != NULL && kinds_of(file) == 0;
}

static bool check_link_types(const struct replay *replay, char *error)
{
	const struct replay_file *first = &replay->files[0];
	char unknown[LINK_TYPE_TEXT_MAX];

	for (unsigned int i = 0; i < replay->nb_files; i++)
		if (!is_unknown(&replay->files[i]))
			return true;
	if (one_describes(replay, UINT32_MAX))
		return true;
	link_type_unknown(first->interface->link_type_number, unknown);
	source_error(error, "%s: %s%s", first->path,
		first->pcapng != NULL ? "no readable packet: " : "", unknown);
	return false;
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
		source_error(error, "out of memory for %u files", nb_paths);
		free(replay);
		return NULL;
	}
	replay->programs[LINK_KIND_UNKNOWN] = NOT_SUITED;
	replay->source.next = replay_next;
	replay->source.progress = replay_progress;
	replay->source.filter = replay_filter;
	replay->source.warning = replay_warning;
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
	if (!check_link_types(replay, error)) {
		replay_close(&replay->source);
		return NULL;
	}
	for (unsigned int i = replay->heap_size / 2; i-- > 0;)
		sift_down(replay, i);
	return &replay->source;
}

bool replay_reads(const char *text, const struct stat *file)
{
	struct stat input;

	if (strcmp(text, "-") != 0)
		return option_names_file(text, file);
	return fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode) &&
	       input.st_dev == file->st_dev && input.st_ino == file->st_ino;
}

bool replay_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *pcap = &replay_options(config)->pcap;
	unsigned int times = 0;

	for (uint32_t i = 0; i < pcap->n; i++)
		times += strcmp(pcap->texts[i], "-") == 0;
	return times <= 1 ||
	       option_fault(fault, "pcap", measurement,
		       "- is given %u times; standard input can be read only once", times);
}

int replay_open_options(const struct config *config, struct source **source, char *error)
{
	const struct option_list *pcap = &replay_options(config)->pcap;

	*source = replay_open(pcap->texts, pcap->n, error);
	return *source != NULL ? 0 : 1;
}

extern const struct source_traits source_replay;

static const struct option_row replay_rows[] = {
	{REPLAY_OPTION, SOURCE_OPTION(source_replay)},
	{0},
};

const struct option_owner replay_owner = {
	.rows = replay_rows,
	.size = sizeof(struct replay_options),
	.check = replay_check,
};

const struct source_traits source_replay = {
	.selected.is = SOURCE_OF_FEEDER | SOURCE_PACKETS,
	.options = &replay_owner,
	.host = HOST_REPLAY,
	.open = replay_open_options,
};
