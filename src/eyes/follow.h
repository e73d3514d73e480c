/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * sketchtap follow: prints epochs as a run closes them, a line each. argv[0] is "follow". Returns
 * the exit status: 0 where the run ended and all was printed, or nobody reads any more; 1 where no
 * run answers, or it went without a word; 2: a mistake in the text.
 */
int follow(int argc, char **argv);
