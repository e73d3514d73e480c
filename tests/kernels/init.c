/* SPDX-License-Identifier: BSD-3-Clause */

/* The first process of a machine that boots to run one program: modules, the program, and off. */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void load_modules(void)
{
	DIR *modules = opendir("/modules");
	struct dirent *entry;

	while (modules != NULL && (entry = readdir(modules)) != NULL) {
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(modules), entry->d_name, O_RDONLY);
		if (syscall(SYS_finit_module, fd, "", 0) != 0)
			printf("%s: cannot be loaded\n", entry->d_name);
		close(fd);
	}
}

int main(void)
{
	int status = -1;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/tmp", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	load_modules();
	fflush(stdout);
	if (fork() == 0) {
		execl("/program", "/program", (char *)NULL);
		_exit(127);
	}
	wait(&status);
	printf("ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
