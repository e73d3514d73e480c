/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `sketchtap plot`: files of a run as a picture. Takes main()'s arguments from the command's name
 * on; returns the exit status. */
int plot(int argc, char **argv);
