/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/top.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/csv_replay.h"
#include "cli/epoch_stream.h"
#include "cli/error.h"
#include "cli/top_screen.h"
#include "parallel/process.h"

#define EXIT_RUN  1
#define EXIT_TEXT 2
#define AGAIN_MS  1000
/* longest time for which an epoch of a file is shown */
#define STAYS_NS  INT64_C(1000000000)
#define ESCAPE    27
#define PAGE      10

static const char usage[] =
	"Usage: sketchtap top [NAME]\n"
	"       sketchtap top FILE.csv... [--stats FILE.csv]...\n"
	"\n"
	"Show each interval of a running instance on the terminal: the ledger, workers and ports,\n"
	"and the heaviest flows with error and past values. NAME is its --name; needed only if\n"
	"several instances run. Run it as the user of the instance. After the instance ends, top\n"
	"waits for the next one.\n"
	"\n"
	"Replay files of --output: show each interval for its duration, at most one second. With\n"
	"files of --stats, also show the ledger. Give rotated files in the order of time. An\n"
	"argument with a / or the ending .csv is a file, not a NAME.\n"
	"\n"
	"Keys: ? shows all, q quits. Exit status: 0; 1: no instance answers, the terminal is\n"
	"unknown, or a file cannot be read; 2: usage error, or malformed file. For scripts:\n"
	"sketchtap follow --json\n";

struct top_display {
	struct view view;
	struct epoch_stream *stream;
	struct csv_replay *replay; /* NULL: shows a live run */
	int64_t due;               /* monotonic ns at which the next epoch of a file is shown */
	struct top_screen picture;
	bool colors, quit;
};

static atomic_bool asked_to_stop; /* set by the signal handler */

static void stop(int signal)
{
	(void)signal;
	atomic_store_explicit(&asked_to_stop, true, memory_order_relaxed);
}

static int attributes_of(const struct top_display *screen, enum top_screen_style style)
{
	switch (style) {
	case PICTURE_TITLE: return A_BOLD;
	case PICTURE_ALARM:
		return (int)(A_BOLD | (screen->colors ? (chtype)COLOR_PAIR(1) : A_STANDOUT));
	case PICTURE_HEAD: return A_UNDERLINE;
	case PICTURE_FOUND: return A_REVERSE;
	case PICTURE_DIM: return A_DIM;
	default: return A_NORMAL;
	}
}

static bool show(struct top_display *screen)
{
	struct top_screen *top_screen = &screen->picture;

	top_screen->rows = LINES < TOP_SCREEN_ROWS_MAX ? (uint32_t)LINES : TOP_SCREEN_ROWS_MAX;
	top_screen->columns = (uint32_t)COLS;
	if (!top_screen_draw(top_screen, &screen->view))
		return false;
	erase();
	for (uint32_t r = 0; r < top_screen->rows; r++) {
		const struct top_screen_line *line = &top_screen->lines[r];

		attrset(attributes_of(screen, line->style));
		if (line->text.len > 0)
			mvaddnstr((int)r, 0, line->text.data, (int)line->text.len);
	}
	refresh();
	return true;
}

static int open_terminal(struct top_display *screen, SCREEN **terminal)
{
	setlocale(LC_CTYPE, "");
	screen->picture.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	*terminal = newterm(NULL, stdout, stdin);
	if (*terminal == NULL)
		return cli_error(EXIT_RUN,
			"top: unknown terminal %.60s; set TERM, for example to vt100",
			getenv("TERM") != NULL ? getenv("TERM") : "without a name");
	set_term(*terminal);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	screen->colors = has_colors();
	if (screen->colors) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
	}
	return 0;
}

static void type_find(struct view *view, int key)
{
	size_t len = strlen(view->find);

	switch (key) {
	case '\n':
	case KEY_ENTER: view->finding = false; break;
	case ESCAPE:
		view->finding = false;
		view->find[0] = '\0';
		break;
	case '\b':
	case 127:
	case KEY_BACKSPACE:
		if (len > 0)
			view->find[len - 1] = '\0';
		break;
	default:
		if (key >= ' ' && key < 127 && len + 1 < VIEW_FIND_MAX) {
			view->find[len] = (char)key;
			view->find[len + 1] = '\0';
		}
	}
}

static void scroll_by(struct view *view, int rows)
{
	const struct epoch_view_measurement *measurement = view_measurement(view);
	int64_t last =
		measurement != NULL && measurement->nb_rows > 0 ? measurement->nb_rows - 1 : 0;
	int64_t first = (int64_t)view->first + rows;

	view->first = (uint32_t)(first < 0 ? 0 : first > last ? last : first);
}

/* At the end of the last file, the shown epoch stays. */
static void next_recorded(struct top_display *screen)
{
	struct epoch_view *epoch;
	const char *error;
	uint64_t stays;

	if (screen->replay == NULL)
		return;
	epoch = csv_replay_next(screen->replay);
	if (epoch == NULL) {
		screen->due = INT64_MAX;
		screen->view.gone = csv_replay_status(screen->replay, &error) != 0
					    ? "THE FILE IS DAMAGED HERE"
					    : "THE END";
		return;
	}
	stays = epoch_view_duration(epoch);
	screen->due = clock_now(CLOCK_MONOTONIC) +
		      (stays > 0 && stays < STAYS_NS ? (int64_t)stays : STAYS_NS);
	view_add(&screen->view, epoch);
}

static void ask_for_rows(struct top_display *screen)
{
	const struct epoch_view_measurement *measurement = view_measurement(&screen->view);

	if (screen->stream != NULL && measurement != NULL)
		epoch_stream_rows_of(screen->stream, measurement->values.name);
}

static void next_measurement(struct top_display *screen)
{
	if (view_next_measurement(&screen->view))
		ask_for_rows(screen);
}

static void press(struct top_display *screen, int key)
{
	struct view *view = &screen->view;

	if (view->finding) {
		type_find(view, key);
		return;
	}
	switch (key) {
	case 'q':
	case 'Q': screen->quit = true; break;
	case 'm':
	case '\t': next_measurement(screen); break;
	case 'b':
		view->bytes = !view_shows_bytes(view);
		view->metric_chosen = true;
		break;
	case 'o': view->order = (enum view_order)((view->order + 1) % VIEW_ORDERS); break;
	case '/':
		view->finding = true;
		view->find[0] = '\0';
		break;
	case ESCAPE: view->find[0] = '\0'; break;
	case ' ':
	case 'f': view->frozen = !view->frozen; break;
	case '?':
	case 'h': view->help = !view->help; break;
	case 'd': view->places = !view->places; break;
	case 'n':
	case KEY_RIGHT: next_recorded(screen); break;
	case KEY_UP: scroll_by(view, -1); break;
	case KEY_DOWN: scroll_by(view, 1); break;
	case KEY_PPAGE: scroll_by(view, -PAGE); break;
	case KEY_NPAGE: scroll_by(view, PAGE); break;
	case KEY_HOME: view->first = 0; break;
	default: break;
	}
}

static void leave_run(struct top_display *screen, const char *why)
{
	epoch_stream_close(screen->stream);
	screen->stream = NULL;
	screen->view.gone = why;
}

static void take_news(struct top_display *screen)
{
	struct epoch_view *epoch;

	switch (epoch_stream_take(screen->stream, &epoch)) {
	case EPOCH_STREAM_NOTHING: break;
	case EPOCH_STREAM_EPOCH:
		view_add(&screen->view, epoch);
		ask_for_rows(screen);
		break;
	case EPOCH_STREAM_ENDED:
		leave_run(screen, "THE RUN ENDED; waiting for the next run");
		break;
	case EPOCH_STREAM_GONE:
		leave_run(screen, "CONNECTION BROKEN; waiting for the next run");
		break;
	case EPOCH_STREAM_ODD: leave_run(screen, "THE RUN HAS ANOTHER VERSION"); break;
	}
}

static void look_again(struct top_display *screen)
{
	screen->stream = epoch_stream_open(screen->view.run, true, true);
	if (screen->stream == NULL)
		return;
	view_clear(&screen->view);
	screen->view.gone = NULL;
}

static void wait_for_time(struct top_display *screen)
{
	struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
	int64_t left = screen->due - clock_now(CLOCK_MONOTONIC);
	bool waits = screen->view.frozen || screen->due == INT64_MAX;
	int n = poll(&keys, 1, waits ? -1 : left > 0 ? (int)(left / 1000000) + 1 : 0);

	if (n > 0 && (keys.revents & (POLLHUP | POLLERR)) != 0)
		screen->quit = true;
	if (n == 0)
		next_recorded(screen);
}

static void wait_for_news(struct top_display *screen)
{
	bool listens = screen->stream != NULL && !screen->view.frozen;
	struct pollfd files[] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = listens ? epoch_stream_fd(screen->stream) : -1, .events = POLLIN},
	};
	int n = poll(files, 2, AGAIN_MS);

	if (n > 0 && (files[0].revents & (POLLHUP | POLLERR)) != 0)
		screen->quit = true;
	if (n > 0 && listens && files[1].revents != 0)
		take_news(screen);
	else if (n == 0 && screen->stream == NULL && !screen->view.frozen)
		look_again(screen);
}

static bool run_screen(struct top_display *screen)
{
	while (!screen->quit && !atomic_load_explicit(&asked_to_stop, memory_order_relaxed)) {
		int key;

		if (!show(screen))
			return false;
		if (screen->replay != NULL)
			wait_for_time(screen);
		else
			wait_for_news(screen);
		while ((key = getch()) != ERR)
			press(screen, key);
	}
	return true;
}

static void free_screen(struct top_display *screen)
{
	epoch_stream_close(screen->stream);
	csv_replay_close(screen->replay);
	view_clear(&screen->view);
	free(screen->view.measurement);
	top_screen_free(&screen->picture);
	free(screen);
}

static int show_screen(struct top_display *screen)
{
	SCREEN *terminal;
	const char *error;
	bool drawn;
	int status = open_terminal(screen, &terminal);

	if (status != 0)
		return status;
	drawn = run_screen(screen);
	endwin();
	delscreen(terminal);
	if (!drawn)
		return cli_error(EXIT_RUN, "top: out of memory");
	status = screen->replay != NULL ? csv_replay_status(screen->replay, &error) : 0;
	return status != 0 ? cli_error(status, "%s", error) : 0;
}

struct top_asked {
	const char *name;
	struct csv_replay_files outputs, stats;
};

static bool names_file(const char *word)
{
	size_t len = strlen(word);

	return strchr(word, '/') != NULL || (len > 4 && strcmp(word + len - 4, ".csv") == 0);
}

/* Returns 0 or the exit status. Moves the files of --output to the front of words[]. */
static int read_arguments(int n, char **words, struct top_asked *asked)
{
	csv_replay_take_stats(words, &n, &asked->stats);
	asked->outputs.paths = words;
	for (int i = 0; i < n; i++) {
		if (words[i][0] != '-' && asked->name == NULL && names_file(words[i])) {
			words[asked->outputs.n++] = words[i];
		} else if (words[i][0] != '-' && words[i][0] != '\0' && asked->name == NULL &&
			   asked->outputs.n == 0 && process_name_allowed(words[i])) {
			asked->name = words[i];
		} else {
			return cli_error(EXIT_TEXT,
				"top '%.100s': allowed: NAME, or FILE.csv... --stats FILE.csv, "
				"--help",
				words[i]);
		}
	}
	if (asked->stats.n > 0 && asked->outputs.n == 0)
		return cli_error(EXIT_TEXT, "top --stats %.100s: also give a file of --output",
			asked->stats.paths[0]);
	return 0;
}

static int show_run(struct top_display *screen, const struct top_asked *asked)
{
	char error[CSV_REPLAY_ERROR_MAX];
	int status;

	if (asked->outputs.n == 0) {
		screen->view.run = asked->name;
		screen->stream = epoch_stream_open(asked->name, true, false);
		return screen->stream != NULL ? show_screen(screen) : EXIT_RUN;
	}
	screen->view.run = asked->outputs.paths[0];
	screen->replay = csv_replay_open(&asked->outputs, &asked->stats, error, &status);
	return screen->replay != NULL ? show_screen(screen) : cli_error(status, "%s", error);
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

int top(int argc, char **argv)
{
	const struct sigaction stopping = {.sa_handler = stop};
	struct top_asked asked = {0};
	struct top_display *screen;
	int status;

	if (wants_help(argc, argv)) {
		fputs(usage, stdout);
		return 0;
	}
	status = read_arguments(argc - 1, argv + 1, &asked);
	if (status != 0)
		return status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return cli_error(EXIT_TEXT,
			"top draws on a terminal, but standard input or output is not a terminal; "
			"in scripts, use sketchtap follow --json");
	screen = calloc(1, sizeof(*screen));
	if (screen == NULL)
		return cli_error(EXIT_RUN, "top: out of memory");
	sigaction(SIGINT, &stopping, NULL);
	sigaction(SIGTERM, &stopping, NULL);
	sigaction(SIGHUP, &stopping, NULL);
	signal(SIGPIPE, SIG_IGN);
	status = show_run(screen, &asked);
	free_screen(screen);
	return status;
}
