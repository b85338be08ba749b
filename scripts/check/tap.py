#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turns test output into results; called by the stages of `make check`.

    tap.py tap  STAGE LOG RESULTS TEST...
    tap.py ktap STAGE LOG RESULTS SUITE...

`tap` reads what scripts/check/run-tests.sh printed: per test program its TAP
stream between a "# RUN name" and a "# EXIT name status" line, at the end
"# DONE"; "# AGAIN name": it will run once more, and that counts. `ktap` reads a console log with the KTAP of KUnit suites.

Whatever was expected and is not there is a failure: a test or suite that did
not run, no plan, fewer or more results than the plan, a repeated number, an
exit status that the results do not explain, an end that never came. A result
is one line in RESULTS: pass|fail|skip TAB name TAB reason.
"""
import re
import sys

RESULT = re.compile(r'(not )?ok (\d+)(?: -)?(?: (.*))?$')
PLAN = re.compile(r'1\.\.(\d+)(?:\s*#\s*(.*))?$')
SKIP = re.compile(r'\s*#\s*SKIP\b:?\s*(.*)$', re.IGNORECASE)
TODO = re.compile(r'\s*#\s*TODO\b', re.IGNORECASE)
STAMP = re.compile(r'^(<\d+>)?\[\s*\d+\.\d+\](\[[ TC]+\d+\])? ?')


class Report:
    """The results file of one stage."""

    def __init__(self, stage, path):
        self.stage = stage
        self.file = open(path, 'a', encoding='utf-8')

    def add(self, kind, name, reason=''):
        reason = reason.replace('\t', ' ').strip()
        self.file.write(f'{kind}\t{self.stage}: {name}\t{reason}\n')


class Stream:
    """One plan and its results."""

    def __init__(self, name):
        self.name = name
        self.plan = None
        self.skip_all = None
        self.results = []
        self.notes = []
        self.bail = None

    def feed(self, line):
        plan, result = PLAN.match(line), RESULT.match(line)
        if plan:
            self.take_plan(plan)
        elif result:
            self.take_result(result)
        elif line.startswith('Bail out!'):
            self.bail = line
        elif line.startswith('#'):
            self.notes.append(line[1:].strip())

    def take_plan(self, match):
        self.plan = int(match.group(1)) if self.plan is None else -1
        skip = SKIP.match('#' + match.group(2)) if match.group(2) else None
        if self.plan == 0:
            self.skip_all = skip.group(1) if skip else ''

    def take_result(self, match):
        bad, number, text = match.group(1), int(match.group(2)), match.group(3) or ''
        skip = SKIP.search(text)
        title = (text[:skip.start()] if skip else text).strip() or f'number {number}'
        kind = 'fail' if bad else 'skip' if skip else 'pass'
        if TODO.search(text):
            kind, title = 'fail', title + ' (TODO counts as failed)'
        reason = skip.group(1) if skip and not bad else ' / '.join(self.notes[-3:]) if bad else ''
        self.results.append((kind, number, title, reason))
        self.notes = []

    def faults(self):
        """What is wrong with the stream itself."""
        if self.bail:
            yield self.bail
            return
        if self.plan is None:
            yield 'no plan'
        elif self.plan < 0:
            yield 'more than one plan'
        elif self.plan == 0 and not self.skip_all:
            yield 'an empty plan without a reason to skip'
        elif self.plan != len(self.results):
            yield f'{len(self.results)} results for a plan of {self.plan}'
        if [r[1] for r in self.results] != list(range(1, len(self.results) + 1)):
            yield 'results are not numbered 1, 2, 3 ...'

    def report(self, report):
        for kind, _, title, reason in self.results:
            report.add(kind, f'{self.name}: {title}', reason)
        for fault in self.faults():
            report.add('fail', self.name, fault)
        if self.plan == 0 and self.skip_all:
            report.add('skip', self.name, self.skip_all)

    def failed(self):
        return bool(self.bail) or any(r[0] == 'fail' for r in self.results)


def read_lines(path):
    with open(path, encoding='utf-8', errors='replace') as log:
        return log.read().replace('\r', '').split('\n')


def close_stream(stream, status, report):
    stream.report(report)
    if status != 0 and not stream.failed():
        report.add('fail', stream.name, f'exit status {status} without a failed result')


def tap(lines, expected, report):
    stream, ran, done = None, set(), False
    for line in lines:
        mark = re.match(r'# (RUN|AGAIN|EXIT|DONE)\b ?(\S*) ?(\d*)$', line)
        if not mark:
            if stream:
                stream.feed(line)
            continue
        kind, name, status = mark.groups()
        if kind == 'EXIT' and stream and name == stream.name:
            close_stream(stream, int(status), report)
            stream = None
            continue
        if kind == 'AGAIN' and stream and name == stream.name:
            stream = None
            continue
        if stream:
            stream.report(report)
            report.add('fail', stream.name, 'did not end')
            stream = None
        if kind == 'RUN':
            stream = Stream(name)
            ran.add(name)
        done = done or kind == 'DONE'
    if stream:
        stream.report(report)
        report.add('fail', stream.name, 'did not end')
    for name in expected:
        if name not in ran:
            report.add('fail', name, 'did not run')
    if not done:
        report.add('fail', 'all tests', 'the run did not come to its end')


def kunit_lines(lines):
    """The console from user space on: with KUNIT=y there is an empty plan before."""
    stripped = [STAMP.sub('', line) for line in lines]
    for i, line in enumerate(stripped):
        if 'Run /init' in line:
            return stripped[i:]
    return []


def ktap(lines, expected, report):
    suite, seen = None, set()
    for line in kunit_lines(lines):
        # one level in: the cases of a suite. Parameters lie deeper, and their
        # case's line carries their verdict
        if re.match(r' {4}[^ ]', line):
            head = re.match(r' {4}# Subtest: (\S+)$', line)
            if head:
                suite = Stream(head.group(1))
            elif suite:
                suite.feed(line[4:])
            continue
        result = RESULT.match(line)
        if not result:
            continue
        name = (result.group(3) or '').split(' #')[0].strip()
        if suite is None or suite.name != name:
            report.add('fail', name, 'a result without its cases')
        else:
            suite.report(report)
            if not suite.results:
                report.add('fail', name, 'a suite without cases')
            if result.group(1) and not suite.failed():
                report.add('fail', name, 'the suite failed outside its cases')
        seen.add(name)
        suite = None
    if suite:
        suite.report(report)
        report.add('fail', suite.name, 'the suite did not end')
    for name in expected:
        if name not in seen:
            report.add('fail', name, 'the suite did not run')


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__.split('\n\n')[1] + '\nAt least one TEST or SUITE: an empty run proves nothing.')
    kind, stage, log, results = sys.argv[1:5]
    {'tap': tap, 'ktap': ktap}[kind](read_lines(log), sys.argv[5:], Report(stage, results))


main()
