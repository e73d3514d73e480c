/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/formats/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/formats/table.h"

/* ECMA-48 sequences; those for wrapping are of the VT100. */
#define WRAP_OFF  "\033[?7l"
#define WRAP_ON   "\033[?7h"
#define TO_BOTTOM "\033[999;1H"
#define TO_LINE   "\033[%u;1H"
#define CLEAR     "\033[J" /* clears the screen after the cursor */

#define SPARE_LINES 2 /* line of screen_silence(), and cursor line */

bool screen_possible(void)
{
	const char *terminal = getenv("TERM");

	return terminal != NULL && terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

/* Returns 24 x 80 if the terminal does not report its size, such as a serial line. */
static struct table_size terminal_size(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row <= SPARE_LINES ||
		size.ws_col == 0)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	return (struct table_size){
		.lines = size.ws_row,
		.columns = size.ws_col < TABLE_WIDTH ? size.ws_col : TABLE_WIDTH,
	};
}

static void keep_what_others_said(
	struct text *text, struct screen *screen, uint32_t height, uint64_t said)
{
	if (screen->lines > 0 && screen->said == said)
		return;
	text_str(text, TO_BOTTOM);
	for (uint32_t l = 0; l < height; l++)
		text_char(text, '\n');
	screen->said = said;
	screen->lines = 0;
}

void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said)
{
	struct table_size size = terminal_size();
	size_t begin;

	text_str(text, WRAP_OFF);
	keep_what_others_said(text, screen, size.lines, said);
	text_printf(text, TO_LINE CLEAR, 1);
	begin = text->len;
	size.lines -= SPARE_LINES;
	table_screen(text, epoch, &size);
	screen->lines = 0;
	for (size_t i = begin; i < text->len; i++)
		screen->lines += text->data[i] == '\n';
	text_str(text, WRAP_ON);
}

void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said)
{
	text_str(text, WRAP_OFF);
	keep_what_others_said(text, screen, terminal_size().lines, said);
	text_printf(text, TO_LINE CLEAR "no packets %suntil ", screen->lines + 1,
		screen->lines > 0 ? "from then " : "");
	text_time(text, end);
	text_str(text, "\n" WRAP_ON);
}
