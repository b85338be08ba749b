// SPDX-License-Identifier: GPL-2.0
/*
 * Reads, writes and checks MSRs of one CPU in the guest, by /dev/cpu/N/msr.
 *
 *   qpmu CPU r MSR		prints the value, or #GP
 *   qpmu CPU w MSR VALUE	prints ok, or #GP
 *   qpmu CPU reset		clears the instrumentation
 *   qpmu CPU show		prints the instrumentation
 *   qpmu CPU check < TABLE	TAP lines; a line of the table is
 *				"w MSR VALUE ok|#GP" or "r MSR VALUE|#GP", # begins a comment
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE	0x40005000u
#define RESET	0x4000501fu

static const char *const names[] = {
	[0x01] = "insns", [0x02] = "insns_user", [0x03] = "icount", [0x04] = "branches",
	[0x05] = "nmi", [0x06] = "nmi_from_user", [0x07] = "nmi_insns", [0x08] = "nmi_icount",
	[0x09] = "nmi_blocked_insns", [0x0a] = "nmi_insns_max", [0x0b] = "nmi_insns_last",
	[0x0c] = "nmi_exceptions", [0x0d] = "nmi_rdmsr", [0x0e] = "nmi_wrmsr",
	[0x0f] = "nmi_rdpmc", [0x10] = "nmi_rdmsr_pmu", [0x11] = "nmi_wrmsr_pmu",
	[0x12] = "nmi_apic_reads", [0x13] = "nmi_apic_writes", [0x14] = "nmi_lvtpc_writes",
	[0x15] = "pmi", [0x16] = "pmi_lost", [0x17] = "overflows", [0x18] = "overflows_int",
	[0x19] = "pmi_merged", [0x1a] = "rdmsr", [0x1b] = "wrmsr", [0x1c] = "rdpmc",
	[0x1d] = "pmi_late",
};

static int fd;

static bool get(uint32_t msr, uint64_t *v)
{
	return pread(fd, v, sizeof(*v), msr) == sizeof(*v);
}

static bool put(uint32_t msr, uint64_t v)
{
	return pwrite(fd, &v, sizeof(v), msr) == sizeof(v);
}

/* What an access gave, in the words of the table. */
static const char *access_msr(char op, uint32_t msr, uint64_t v)
{
	static char text[24];

	if (op == 'w')
		return put(msr, v) ? "ok" : "#GP";
	if (!get(msr, &v))
		return "#GP";
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	return text;
}

static void check_line(const char *line)
{
	char op, first[32], second[32] = "";
	const char *got, *want;
	uint32_t msr;

	if (sscanf(line, " %c %x %31s %31s", &op, &msr, first, second) < 3 || op == '#')
		return;
	want = op == 'w' ? second : first;
	got = access_msr(op, msr, strtoull(first, NULL, 0));
	printf("%s - msr %.*s", strcmp(got, want) ? "not ok" : "ok",
	       (int)strcspn(line, "\n"), line);
	printf(strcmp(got, want) ? " # got %s\n" : "\n", got);
}

static int check(void)
{
	char line[200];

	while (fgets(line, sizeof(line), stdin))
		check_line(line);
	return 0;
}

static int show(void)
{
	uint64_t v;
	unsigned int i;

	for (i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (get(BASE + i, &v))
			printf("%s %" PRIu64 "\n", names[i], v);
	return 0;
}

int main(int argc, char **argv)
{
	const char *op = argc > 2 ? argv[2] : "";
	char path[64];

	snprintf(path, sizeof(path), "/dev/cpu/%s/msr", argc > 1 ? argv[1] : "?");
	fd = open(path, O_RDWR);
	if (fd < 0) {
		fprintf(stderr, "qpmu: cannot open %s: modprobe msr\n", path);
		return 1;
	}
	if (!strcmp(op, "check"))
		return check();
	if (!strcmp(op, "show"))
		return show();
	if (!strcmp(op, "reset"))
		return !put(RESET, 0);
	if ((*op == 'r' && argc == 4) || (*op == 'w' && argc == 5)) {
		puts(access_msr(*op, strtoul(argv[3], NULL, 0),
				argc == 5 ? strtoull(argv[4], NULL, 0) : 0));
		return 0;
	}
	fputs("usage: qpmu CPU r MSR | w MSR VALUE | reset | show | check\n", stderr);
	return 2;
}
