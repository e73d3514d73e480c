/* SPDX-License-Identifier: BSD-3-Clause */

/* Capture files, streamed, several of them merged by time. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "base/units.h"
#include "rx/capture/capture_input.h"
#include "rx/capture/pcap_file.h"
#include "rx/packet/filter_program.h"
#include "rx/capture/pcapng.h"
#include "rx/capture/source.h"
#include "config/config.h"

/* A kind of interface: a row of link_type_numbers[], in this machine's byte order or in the other
 * one. */
#define KINDS (2 * LINK_TYPE_NUMBERS)

static unsigned int kind_of(int link_row, bool swapped)
{
	return 2 * (unsigned int)link_row + swapped;
}

static unsigned int row_of(unsigned int kind)
{
	return kind / 2;
}

struct replay_file {
	const char *path;
	unsigned int order; /* on the command line */
	bool open;
	struct capture_input input;
	struct pcapng *pcapng; /* NULL: of the classic format */
	struct pcap_file pcap;
	char refusal[LINK_TYPE_TEXT_MAX]; /* why a packet that was read cannot be measured */
	unsigned int kind;                /* of the interface of the last packet */
	uint64_t packets;                 /* read so far */
	struct source_packet head;        /* its packet, while another file's comes first */
};

struct replay {
	struct source source; /* first: what the callers hold */
	unsigned int nb_files;
	unsigned int nb_damaged;
	/* A binary heap of the files that have a head: the earliest one is heap[0]. */
	unsigned int heap_size;
	bool head_delivered; /* heap[0] must advance before it is delivered again */
	int programs
		[KINDS]; /* of the filter; 0 without one. -1: it does not suit such interfaces */
	struct replay_file **heap;
	struct replay_file files[];
};

/* Whether the input goes on with these bytes. */
static bool begins_with(struct capture_input *input, const uint8_t *bytes, size_t len)
{
	return capture_input_have(input, len) == len && memcmp(input->at, bytes, len) == 0;
}

/* The tool that unpacks a file whose compression is not read here, or NULL. */
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

/* Says what a file is that is no capture. */
static void explain_refusal(struct replay_file *file, char *error)
{
	struct capture_input *input = &file->input;
	const char *tool = unpacker_of(input);
	size_t len = capture_input_have(input, sizeof(uint32_t));

	if (input->damage != NULL)
		source_error(error, "%s: %s", file->path, input->damage);
	else if (input->failure != 0)
		source_error(error, "%s: cannot be read: %s", file->path, strerror(input->failure));
	else if (len == 0)
		source_error(error, "%s: is empty; a capture begins with a header", file->path);
	else if (tool != NULL)
		source_error(error,
			"%s: is compressed with %s; pipe it: %s -dc %s | sketchtap --pcap -",
			file->path, tool, tool, file->path);
	else
		source_error(error, "%s: cannot be read as pcap or pcapng: it begins as neither",
			file->path);
}

/* Bytes of a frame are those before its FCS, however much of it was captured; one that has more than
 * it says to have had is left as it is. */
static void leave_out_fcs(struct source_packet *packet, uint32_t fcs_bytes)
{
	if (fcs_bytes == 0 || packet->captured > packet->wire_len)
		return;
	packet->wire_len -= fcs_bytes < packet->wire_len ? fcs_bytes : packet->wire_len;
	packet->snaplen -= fcs_bytes < packet->snaplen ? fcs_bytes : 0;
	if (packet->captured > packet->wire_len)
		packet->captured = packet->wire_len;
}

static int advance_pcapng(
	const struct replay *replay, struct replay_file *file, struct source_packet *to)
{
	struct pcapng_packet packet;
	int status = pcapng_next(file->pcapng, &packet), program;
	const struct pcapng_interface *interface;

	if (status <= 0)
		return file->input.damage == NULL ? status : -1;
	interface = packet.interface;
	if (interface->link_row < 0) {
		link_type_unknown(interface->link_type_number, file->refusal);
		return -1;
	}
	file->kind = kind_of(interface->link_row, packet.swapped);
	program = replay->programs[file->kind];
	if (program < 0) {
		snprintf(file->refusal, sizeof(file->refusal),
			"--filter does not suit link type %d of interface %u",
			interface->link_type_number, interface->number);
		return -1;
	}
	*to = (struct source_packet){
		.data = packet.data,
		.captured = packet.captured,
		.wire_len = packet.wire_len,
		.snaplen = interface->snaplen,
		.time = packet.time,
		.link = link_type_numbers[interface->link_row].link,
		.filter = (uint32_t)program,
		.in_port = (uint16_t)file->order,
	};
	leave_out_fcs(to, packet.fcs_bytes);
	file->packets++;
	return 1;
}

static int advance_classic(
	const struct replay *replay, struct replay_file *file, struct source_packet *to)
{
	int status = pcap_file_next(&file->pcap, to);

	if (status <= 0)
		return file->input.damage == NULL ? status : -1;
	to->link = link_type_numbers[row_of(file->kind)].link;
	to->filter = (uint32_t)replay->programs[file->kind];
	to->in_port = (uint16_t)file->order;
	leave_out_fcs(to, file->pcap.fcs_bytes);
	file->packets++;
	return 1;
}

/* Reads the next packet of a file. 1: there is one. 0: the end. -1: damage. */
static int advance(const struct replay *replay, struct replay_file *file, struct source_packet *to)
{
	return file->pcapng != NULL ? advance_pcapng(replay, file, to)
				    : advance_classic(replay, file, to);
}

static const char *damage_of(const struct replay_file *file)
{
	if (file->input.damage != NULL)
		return file->input.damage;
	if (file->refusal[0] != '\0')
		return file->refusal;
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

/* Out of the heap with it: the end, or damage. */
static void end_first(struct replay *replay, bool damaged)
{
	struct replay_file *file = replay->heap[0];

	if (damaged)
		note_damage(replay, file);
	close_file(file);
	replay->heap[0] = replay->heap[--replay->heap_size];
}

/* Whether no other file has a packet that comes before the next one of the first file. */
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
			/* Not by way of its head: what was written in parts is slow to be copied
			 * whole. */
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
	return consumed < size ? (double)consumed / (double)size : 1; /* a file may have grown */
}

/*
 * libpcap compiles for an open capture: an empty one of the kind. Returns NULL where memory is
 * missing.
 */
static pcap_t *empty_capture(unsigned int kind)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t unused[2];
		uint32_t snaplen, link;
	} header = {0xa1b2c3d4, 2, 4, {0}, PACKET_BYTES_MAX,
		(uint32_t)link_type_numbers[row_of(kind)].number};
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

/* Returns as filter_set_add() does. */
static int compile_for_kind(
	unsigned int kind, const char *expression, struct filter_set *set, char *reason)
{
	pcap_t *pcap = empty_capture(kind);
	int program;

	if (pcap == NULL) {
		snprintf(reason, FILTER_ERROR_MAX, "no memory to compile it");
		return -1;
	}
	program = filter_set_add(set, pcap, expression, reason);
	pcap_close(pcap);
	return program;
}

#define NOT_COMPILED (-2)

/* Compiles it where nobody has, or where it did not suit: once more, for the reason. */
static bool suits(struct replay *replay, unsigned int kind, const char *expression,
	struct filter_set *set, char *reason)
{
	int *program = &replay->programs[kind];

	if (*program < 0)
		*program = compile_for_kind(kind, expression, set, reason);
	return *program >= 0;
}

/* The interfaces that are described by now must suit, as the capture of a single one must. Others
 * may come when filters are long compiled. */
static bool filter_pcapng(struct replay *replay, struct replay_file *file, const char *expression,
	struct filter_set *set, char *reason)
{
	const struct pcapng_interface *interfaces;
	bool swapped;
	uint32_t n = pcapng_interfaces(file->pcapng, &interfaces, &swapped);

	for (unsigned int kind = 0; kind < KINDS; kind++)
		if (replay->programs[kind] == NOT_COMPILED)
			suits(replay, kind, expression, set, reason);
	for (uint32_t i = 0; i < n; i++)
		if (interfaces[i].link_row >= 0 &&
			!suits(replay, kind_of(interfaces[i].link_row, swapped), expression, set,
				reason))
			return false;
	return true;
}

static bool replay_filter(struct source *source, const char *expression, struct filter_set *set)
{
	struct replay *replay = (struct replay *)source;
	char reason[FILTER_ERROR_MAX];

	for (unsigned int kind = 0; kind < KINDS; kind++)
		replay->programs[kind] = NOT_COMPILED;
	for (unsigned int i = 0; i < replay->nb_files; i++) {
		struct replay_file *file = &replay->files[i];

		if (!(file->pcapng != NULL ? filter_pcapng(replay, file, expression, set, reason)
					   : suits(replay, file->kind, expression, set, reason))) {
			source_error(source->error, "%s: --filter does not suit it: %s", file->path,
				reason);
			return false;
		}
		file->head.filter = (uint32_t)replay->programs[file->kind];
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

/* A first packet that cannot be read refuses. */
static bool read_first(struct replay *replay, struct replay_file *file, char *error)
{
	int status = advance(replay, file, &file->head);

	if (status < 0) {
		source_error(
			error, "%s: no packet of it can be read: %s", file->path, damage_of(file));
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
	source_error(error, "%s: no memory to read it", file->path);
	return false;
}

static bool open_classic(struct replay_file *file, char *error)
{
	char unknown[LINK_TYPE_TEXT_MAX];
	int row;

	if (!pcap_file_begin(&file->pcap, &file->input)) {
		source_error(error, "%s: %s", file->path, damage_of(file));
		return false;
	}
	row = link_type_find(file->pcap.link_type_number);
	if (row < 0) {
		link_type_unknown(file->pcap.link_type_number, unknown);
		source_error(error, "%s: %s", file->path, unknown);
		return false;
	}
	file->kind = kind_of(row, file->pcap.swapped);
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

/* --- options --- */

static bool reads_capture(const char *text, const struct stat *file)
{
	struct stat input;

	if (strcmp(text, "-") != 0)
		return option_names_file(text, file);
	return fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode) &&
	       input.st_dev == file->st_dev && input.st_ino == file->st_ino;
}

static bool check_replay(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *pcap = &replay_options(config)->pcap;
	unsigned int times = 0;

	for (uint32_t i = 0; i < pcap->n; i++)
		times += strcmp(pcap->texts[i], "-") == 0;
	return times <= 1 || option_fault(fault, "pcap", measurement,
				     "- is given %u times; standard input can be read once", times);
}

static const struct option_row replay_rows[] = {
	{
		.name = "pcap",
		.letter = 'r',
		.placeholder = "FILE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		.reads = reads_capture,
		OPTION_FIELD(replay_options, pcap),
		.set = SOURCE_SET,
		.help = "Measure a capture file, pcap or pcapng; - is standard input. "
			"Repeatable: several files are merged by time.",
	},
	{0},
};

const struct option_owner replay_owner = {
	.rows = replay_rows,
	.size = sizeof(struct replay_options),
	.check = check_replay,
};

static int open_named(const struct config *config, struct source **source, char *error)
{
	const struct option_list *pcap = &replay_options(config)->pcap;

	*source = replay_open(pcap->texts, pcap->n, error);
	return *source != NULL ? 0 : 1;
}

const struct source_kind source_replay = {
	.options = &replay_owner,
	.open = open_named,
};
