// SPDX-License-Identifier: GPL-2.0
/*
 * Parsing of lines in /proc and of sample fields. Run on the host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kallsyms.h"
#include "procfs.h"
#include "sample.h"
#include "tap.h"

static void test_maps(void)
{
	char file[] = "7f00a000-7f00c000 r-xp 00001000 fe:01 1234                       /usr/lib/a b.so";
	char anon[] = "7f00a000-7f00c000 rwxp 00000000 00:00 0 ";
	char data[] = "7f00a000-7f00c000 rw-p 00000000 00:00 0                          [heap]";
	char junk[] = "no mapping at all";
	struct mapping map;

	ok(maps_line_parse(file, &map), "a mapping of code is parsed");
	is(map.start, 0x7f00a000, "its start");
	is(map.end, 0x7f00c000, "its end");
	is(map.pgoff, 0x1000, "its offset");
	is(map.ino, 1234, "its inode");
	is(map.prot, PROT_READ | PROT_EXEC, "its protection");
	ok(!strcmp(map.name, "/usr/lib/a b.so"), "a file name with a blank is parsed");
	ok(maps_line_parse(anon, &map) && !strcmp(map.name, "//anon"),
	   "anonymous code is named //anon");
	ok(!maps_line_parse(data, &map), "a data mapping is skipped");
	ok(!maps_line_parse(junk, &map), "a malformed line is skipped");
}

static void test_modules(void)
{
	struct mapping map;
	char name[64];

	ok(modules_line_parse("ext4 966656 1 - Live 0xffffffffc0123000", &map, name) &&
	   !strcmp(map.name, "[ext4]") && map.start == 0xffffffffc0123000 &&
	   map.end == map.start + 966656, "a module");
	ok(!modules_line_parse("ext4 966656 1 - Live 0x0000000000000000", &map, name),
	   "a module with a hidden address is skipped");
}

static void test_sample(void)
{
	struct {
		struct perf_event_header header;
		uint64_t words[8];
	} rec = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(rec) },
		.words = { 1, 2, 3 | 4ULL << 32, 5, 6, 7, 8, 9 },
	};
	uint64_t all = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
		       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	struct sample s;

	ok(sample_parse(&rec.header, all, &s) && s.ip == 2 && s.pid == 3 && s.tid == 4 &&
	   s.time == 5 && s.id == 6 && s.stream_id == 7 && s.cpu == 8 && s.period == 9,
	   "the fields of a sample, in the order of the ABI");
	rec.header.size -= 8;
	ok(!sample_parse(&rec.header, all, &s), "a sample that is too short is refused");
	is(sample_id_size(all), 48, "bytes of a sample_id");
	sample_id_write(rec.words, all, &(struct sample){ .id = 42, .tid = 7, .time = 9 });
	rec.header.size = sizeof(rec.header) + 48;
	ok(sample_id_parse(&rec.header, all, &s) && s.id == 42 && s.tid == 7 && s.time == 9,
	   "a sample_id written and read");
}

static const struct ksym *find(struct kallsyms *kallsyms, uint64_t addr)
{
	return kallsyms_find(kallsyms, addr);
}

static void test_kallsyms(void)
{
	char path[] = "/tmp/kallsyms_test.XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct kallsyms kallsyms;
	const struct ksym *sym;

	fputs("ffffffff81000000 T _stext\nffffffff81000000 T first\nffffffff81000200 D data\n"
	      "ffffffff81000100 t second\nffffffffc0000000 t entry\t[mod]\njunk\n", file);
	fclose(file);
	ok(!kallsyms_load(&kallsyms, path) && kallsyms.nr == 4, "kallsyms loads only functions");
	is(kallsyms_address(&kallsyms, "_stext"), 0xffffffff81000000, "address of a name");
	sym = find(&kallsyms, 0xffffffff810000ff);
	ok(sym && !strcmp(sym->name, "_stext"), "the last byte of a function is found");
	sym = find(&kallsyms, 0xffffffff81000100);
	ok(sym && !strcmp(sym->name, "second"), "the first byte of a function is found");
	sym = find(&kallsyms, 0xffffffffc0000010);
	ok(sym && sym->module && !strcmp(sym->module, "[mod]"), "a function of a module is found");
	ok(!find(&kallsyms, 0xffffffff80ffffff),
	   "an address before the first function is not found");
	kallsyms_free(&kallsyms);
	unlink(path);
}

int main(void)
{
	plan(10 + 2 + 4 + 6);
	test_maps();
	test_modules();
	test_sample();
	test_kallsyms();
	return done();
}
