#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes one table of what the measuring programs printed; called by run.sh.

    table.py KERNEL NUMBERS RESULTS

NUMBERS has their lines (tools/bench/bench.h). The table goes to stdout, the
same to RESULTS for other programs: a header, then per row and tab-separated
kernel, row, perf, pmuring, ratio, goal, verdict. Numbers are instructions (of
"sample: RDMSR" and the like, accesses). A verdict is "met", "missed", or
"not measured". Exit status 1 unless all goals are met, 2 when NUMBERS is broken.

Every row that is expected is in GROUPS, with its goal: the most that pmuring
may cost in parts of what perf costs. A row that was not printed was not
measured, and so not met.
"""
import sys

# what a switch costs with nothing open, before the module was ever loaded
BASE = 'switch: no event yet'

# A goal of 0: exactly nothing is added, whatever perf adds. A third number: the
# most that pmuring may cost, whatever perf costs.
GROUPS = [
    ('sample', 'one sample of cycles:u, IP|TID|TIME|PERIOD, in NMI context', [
        ('instructions', 0.5, 950),
        ('RDMSR', 1.0),
        ('WRMSR', 1.0),
        ('RDPMC', 1.0),
        ('APIC reads', 1.0),
        ('APIC writes', 1.0),
        ('LVTPC writes', 1.0),
    ]),
    ('switch', 'added to one context switch between two tasks, each with', [
        ('1 event', 0.5),
        ('4 events', 0.5),
        ('8 events', 0.5),
        ('4 sampling events', 0.5),
        ('1 event inherited', 0.5),
        ('4 events inherited', 0.5),
        ('4 events on one task', 0.5),
        ('1 event on a sleeper', 0.5),
        ('1000 events on one task', 1.5),
        ('2000 other tasks with events', 1.5),
        ('no event yet', 0),
        ('no event any more', 0),
    ]),
    ('call', 'system calls on events of the calling task', [
        ('read', 1.0),
        ('read a group of 8', 1.0),
        ('disable + enable', 1.0),
        ('open + close, one more', 1.0),
        ('open + close, the only one', 1.0),
        ('open + close, 2000 other tasks with events', 1.5),
    ]),
    ('storm', 'on a CPU where another user does its worst', [
        (f'{storm}: {what}', 1.5)
        for storm in ('calm', 'open + close', 'SET_OUTPUT', 'map events', 'fork most events')
        for what in ('open', 'close', 'switch', 'latest wake-up')
    ]),
]
LABELS = {
    '4 events on one task': '4 events, the other without',
    '1000 events on one task': '1000 events, the other without',
    'open + close, 2000 other tasks with events': 'open + close, 2000 other tasks',
    '2000 other tasks with events': 'none, 2000 others with events',
    '1 event on a sleeper': 'none, 1 on a task that sleeps',
    'no event yet': 'none: before the first open',
    'no event any more': 'none: after the last close',
}


class Row:
    """One line of the table: two prices and what becomes of them."""

    def __init__(self, name, goal, most, prices, why):
        self.name, self.goal, self.most, self.why = name, goal, most, why
        self.perf, self.pmuring = prices
        self.ratio = None
        if None in prices:
            self.verdict = 'not measured'
            return
        if self.perf > 0:
            self.ratio = self.pmuring / self.perf
        # in products: nothing is at most any part of nothing
        met = self.pmuring <= goal * self.perf if goal else self.pmuring == 0
        if most is not None and self.pmuring > most:
            met = False
        self.verdict = 'met' if met else 'missed'

    def label(self):
        """The name below its group's title."""
        name = self.name.split(': ', 1)[1]
        return LABELS.get(name, name)


def read_numbers(path):
    """Returns {(row, contestant): number or None}, {row: why it is None}."""
    numbers, whys = {}, {}
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            row, contestant, value, *why = line.rstrip('\n').split('\t')
            if (row, contestant) in numbers:
                raise ValueError(f'{row} of {contestant} is there twice')
            numbers[row, contestant] = None if value == '-' else float(value)
            if why:
                whys[row] = f'{contestant}: {why[0]}'
    return numbers, whys


def price(numbers, name, contestant):
    """The price of a row, for switches what was added to the bare one."""
    value = numbers.pop((name, contestant), None)
    base = numbers.get('base')
    if not name.startswith('switch: ') or value is None:
        return value
    return None if base is None else value - base


def make_rows(numbers, whys):
    """Returns [(title, [Row, ...]), ...]; refuses unexpected numbers."""
    numbers['base'] = numbers.get((BASE, 'perf'))
    table = []
    for prefix, title, goals in GROUPS:
        rows = []
        for short, goal, *most in goals:
            name = f'{prefix}: {short}'
            prices = [price(numbers, name, who) for who in ('perf', 'pmuring')]
            rows.append(Row(name, goal, most[0] if most else None, prices,
                            whys.get(name, '')))
        table.append((title, rows))
    del numbers['base']
    if numbers:
        raise ValueError(f'rows that have no goal: {sorted(numbers)}')
    return table


def cell(value, digits=1):
    """A number, or a dash where there is none."""
    return '-' if value is None else f'{value:.{digits}f}'


def print_table(kernel, table):
    """For people."""
    print(f'=== {kernel}: instructions, and accesses where named\n')
    print(f'{"":34}{"perf":>12}{"pmuring":>12}{"ratio":>10}{"goal":>8}')
    for title, rows in table:
        print(f'\n{title}')
        for row in rows:
            print(f'  {row.label():32}{cell(row.perf):>12}{cell(row.pmuring):>12}'
                  f'{cell(row.ratio, 2):>10}{row.goal:>8.2f}  {row.verdict}'
                  f'{f" (at most {row.most})" if row.most is not None else ""}')


def print_verdict(table):
    """The last lines: how many goals are met, and which are not."""
    rows = [row for _, rows in table for row in rows]
    met = [row for row in rows if row.verdict == 'met']
    print(f'\n{len(met)} of {len(rows)} goals met')
    for row in rows:
        if row.verdict != 'met':
            print(f'  {row.verdict}: {row.name}{": " if row.why else ""}{row.why}')
    return len(met) == len(rows)


def write_results(kernel, table, path):
    """For programs."""
    with open(path, 'w', encoding='utf-8') as out:
        print('kernel', 'row', 'perf', 'pmuring', 'ratio', 'goal', 'verdict',
              sep='\t', file=out)
        for _, rows in table:
            for row in rows:
                print(kernel, row.name, cell(row.perf), cell(row.pmuring),
                      cell(row.ratio, 4), row.goal, row.verdict, sep='\t', file=out)


def main():
    """See the top."""
    kernel, numbers, results = sys.argv[1:]
    try:
        table = make_rows(*read_numbers(numbers))
    except (OSError, ValueError) as error:
        print(f'table.py: {numbers}: {error}', file=sys.stderr)
        return 2
    write_results(kernel, table, results)
    print_table(kernel, table)
    return 0 if print_verdict(table) else 1


if __name__ == '__main__':
    sys.exit(main())
