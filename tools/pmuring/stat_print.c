// SPDX-License-Identifier: GPL-2.0
/*
 * Counts as perf stat prints them: for people, or as fields for programs.
 * Called by stat.c.
 */
#include <string.h>

#include "stat.h"
#include "util.h"

/* columns of what stands behind the '#', so that the marks behind it line up */
#define METRIC_WIDTH	28

/* "1234567" as "1,234,567" in @text of 64 bytes */
static const char *with_commas(double value, int decimals, char *text)
{
	char digits[48];
	int len = snprintf(digits, sizeof(digits), "%.*f", decimals, value);
	int whole = strcspn(digits, ".");
	char *to = text;

	for (int i = 0; i < len; i++) {
		if (i && i < whole && (whole - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

/* why a number is missing, in perf's words; NULL if there is a number */
static const char *no_value(const struct event *event, const struct total *total)
{
	if (event->missing)
		return "<not supported>";
	return total->running ? NULL : "<not counted>";
}

static double percent_running(const struct total *total)
{
	return total->enabled ? 100.0 * total->running / total->enabled : 100;
}

static void print_fields(FILE *to, const struct stat_options *opts,
			 const struct stat_result *result, size_t i)
{
	const struct event *event = &opts->events.events[i];
	const struct total *total = &result->totals[i];
	const char *sep = opts->separator, *none = no_value(event, total);
	bool clock = stat_is_clock(event);
	struct stat_metric metric;

	if (opts->interval)
		fprintf(to, "%16.9f%s", result->stamp, sep);
	if (none)
		fputs(none, to);
	else
		fprintf(to, "%.*f", clock ? 2 : 0, clock ? total->value / 1e6 : total->value);
	fprintf(to, "%s%s%s%s", sep, clock ? "msec" : "", sep, event->name);
	if (opts->repeat > 1)
		fprintf(to, "%s%.2f%%", sep, total->spread);
	fprintf(to, "%s%lu%s%.2f", sep, total->running, sep, percent_running(total));
	if (!none && stat_metric(opts, result, i, &metric))
		fprintf(to, "%s%.*f%s%s", sep, metric.decimals, metric.value, sep,
			metric.unit + strspn(metric.unit, "% "));
	else
		fprintf(to, "%s%s", sep, sep);
	fputc('\n', to);
}

static void print_line(FILE *to, const struct stat_options *opts,
		       const struct stat_result *result, size_t i)
{
	const struct event *event = &opts->events.events[i];
	const struct total *total = &result->totals[i];
	const char *none = no_value(event, total);
	bool clock = stat_is_clock(event);
	struct stat_metric metric;
	char text[64], behind[64] = "";

	if (opts->interval)
		fprintf(to, "%16.9f ", result->stamp);
	if (!none)
		with_commas(clock ? total->value / 1e6 : total->value, clock ? 2 : 0, text);
	if (!none && stat_metric(opts, result, i, &metric))
		snprintf(behind, sizeof(behind), "# %8.*f%s%s", metric.decimals, metric.value,
			 metric.unit[0] == '%' ? "" : " ", metric.unit);
	fprintf(to, "%18s %-4s %-24s %-*s", none ? none : text, clock ? "msec" : "", event->name,
		METRIC_WIDTH, behind);
	if (!none && opts->repeat > 1)
		fprintf(to, "  ( +-%6.2f%% )", total->spread);
	if (!none && total->running < total->enabled)
		fprintf(to, "  (%.2f%%)", percent_running(total));
	fputc('\n', to);
}

static void print_whom(FILE *to, const struct target *target)
{
	if (target_is_cpus(target))
		fprintf(to, target->cpus ? "'CPU(s) %s'" : "'system wide'", target->cpus);
	else if (target->pids || target->tids)
		fprintf(to, "%s id '%s'", target->pids ? "process" : "thread",
			target->pids ? target->pids : target->tids);
	else
		for (char **arg = target->argv; *arg; arg++)
			fprintf(to, "%s%s%s", arg == target->argv ? "'" : " ", *arg,
				arg[1] ? "" : "'");
}

/**
 * stat_print_head - what stands above the first count
 * @to: where to
 * @opts: what is counted
 */
void stat_print_head(FILE *to, const struct stat_options *opts)
{
	if (opts->separator)
		return;
	if (opts->interval) {
		fprintf(to, "#%15s %18s %-4s %s\n", "time", "counts", "unit", "events");
		return;
	}
	fprintf(to, "\n Performance counter stats for ");
	print_whom(to, &opts->target);
	if (opts->repeat > 1)
		fprintf(to, " (%lu runs)", opts->repeat);
	fprintf(to, ":\n\n");
}

static void print_times(FILE *to, const struct stat_options *opts,
			const struct stat_result *result)
{
	const struct total *elapsed = &result->elapsed;
	const struct rusage *usage = result->usage;

	if (opts->repeat > 1)
		fprintf(to, "\n %17.5f +- %.5f seconds time elapsed  ( +-%6.2f%% )\n\n",
			elapsed->value, elapsed->value * elapsed->spread / 100, elapsed->spread);
	else
		fprintf(to, "\n %17.9f seconds time elapsed\n\n", elapsed->value);
	if (usage)
		fprintf(to, " %17.9f seconds user\n %17.9f seconds sys\n\n",
			usage->ru_utime.tv_sec + usage->ru_utime.tv_usec / 1e6,
			usage->ru_stime.tv_sec + usage->ru_stime.tv_usec / 1e6);
}

/**
 * stat_print - print the counts of a run or an interval
 * @to: where to
 * @opts: what is counted
 * @result: what was counted
 */
void stat_print(FILE *to, const struct stat_options *opts, const struct stat_result *result)
{
	for (size_t i = 0; i < opts->events.nr; i++) {
		if (opts->separator)
			print_fields(to, opts, result, i);
		else
			print_line(to, opts, result, i);
	}
	if (!opts->separator && !opts->interval)
		print_times(to, opts, result);
	fflush(to);
}
