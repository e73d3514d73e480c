/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/silence_libbpf.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *library, *setter;
} printers[] = {
	{"libbpf.so.1", "libbpf_set_print"},
	{"libbpf.so.0", "libbpf_set_print"},
	{"libxdp.so.1", "libxdp_set_print"},
};

void port_silence_libbpf(bool verbose)
{
	for (size_t i = 0; !verbose && i < sizeof(printers) / sizeof(printers[0]); i++) {
		/* only a loaded library: a driver loads it hidden from the global scope */
		void *library = dlopen(printers[i].library, RTLD_LAZY | RTLD_NOLOAD);
		void *(*set_print)(void *print) =
			NULL; /* argument and result are function pointers */
		void *symbol;

		if (library == NULL)
			continue;
		symbol = dlsym(library, printers[i].setter);
		memcpy(&set_print, &symbol, sizeof(set_print));
		if (set_print != NULL)
			set_print(NULL);
		dlclose(library);
	}
}
