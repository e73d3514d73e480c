/* SPDX-License-Identifier: BSD-3-Clause */

/* Feeds every file of the folders named on the command line to a fuzz target, once each. */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;
	uint8_t *data;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	data = malloc(size > 0 ? (size_t)size : 1);
	if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	fclose(file);
}

int main(int argc, char **argv)
{
	unsigned int replayed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *entry;

		if (dir == NULL) {
			perror(argv[i]);
			return 1;
		}
		while ((entry = readdir(dir)) != NULL) {
			char path[4096];

			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			replay_file(path);
			replayed++;
		}
		closedir(dir);
	}
	printf("%u inputs replayed\n", replayed);
	return replayed > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
