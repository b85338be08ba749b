#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares what the documents say with what is there; called by docs.sh.

    docs.py links ROOT FILE.md...       files and sections that links lead to, and
                                        files and functions named in `code`
    docs.py manuals FILE...             .Xr of our own pages
    docs.py options PAGE HELP           the options of a page and those of --help
    docs.py parameters MODINFO FILE...  a document's parameters and defaults, and the
                                        module's
    docs.py abi HEADER PAGE             requests and fields of INFO

Prints one complaint per line. Exit status 1 if there is one.
"""
import fnmatch
import os
import re
import sys

SOURCES = re.compile(r'[\w./*-]+\.(c|h|S|sh|py|md)')
FOLDERS = ('docs/', 'kmod/', 'kunit/', 'scripts/', 'tools/', 'uapi/')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


# ---- Markdown ----

def prose(text):
    """The text without blocks of code, which have no links."""
    text = re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)
    return '\n'.join(line for line in text.split('\n') if not line.startswith('    '))


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    seen = {}
    for heading in re.findall(r'^#+ +(.*?) *#*$', prose(text), re.M):
        slug = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).lower()
        slug = re.sub(r'[^\w\- ]', '', slug).replace(' ', '-')
        n = seen[slug] = seen.get(slug, -1) + 1
        yield f'{slug}-{n}' if n else slug


def broken_link(path, target):
    """What is wrong with a link of the file, or None."""
    if re.match(r'[a-z]+:', target):
        return None
    name, _, anchor = target.partition('#')
    file = os.path.join(os.path.dirname(path), name) if name else path
    if not os.path.exists(file):
        return 'no such file'
    if anchor and anchor not in anchors(read(file)):
        return 'no such section'
    return None


def tree(root):
    """All files of the tree, relative to its root."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ('.git', 'build')]
        for file in files:
            yield os.path.relpath(os.path.join(folder, file), root)


def missing_file(root, files, word):
    """Whether the word names a file or folder of ours that does not exist."""
    if word.startswith('build/'):
        return False
    if word.startswith(FOLDERS):
        return not any(f == word or f.startswith(word.rstrip('/') + '/') or
                       fnmatch.fnmatch(f, word) for f in files)
    if SOURCES.fullmatch(word) and not word.startswith(('/', 'linux/')):
        return not any(fnmatch.fnmatch('/' + f, '*/' + word) for f in files)
    return False


def identifiers(root, files):
    """All words of our sources."""
    words = set()
    for file in files:
        if file.endswith(('.c', '.h', '.S', '.py', '.sh')):
            words.update(re.findall(r'\w+', read(os.path.join(root, file))))
    return words


def is_known(function, words):
    """Whether there is such a function; a name that begins with _ lacks its prefix."""
    return function in words or (function.startswith('_') and
                                 any(word.endswith(function) for word in words))


def links(root, *paths):
    files = list(tree(root))
    words = identifiers(root, files)
    for path in paths:
        text = prose(read(path))
        for target in re.findall(r'\]\(([^)\s]+)\)', text):
            wrong = broken_link(path, target)
            if wrong:
                yield f'{path}: {target}: {wrong}'
        for word in re.findall(r'`([^`\s]+)`', text):
            if missing_file(root, files, word):
                yield f'{path}: `{word}`: no such file'
            function = re.fullmatch(r'(\w+)\(\)', word)
            if function and not is_known(function[1], words):
                yield f'{path}: `{word}`: no such function'


# ---- manual pages ----

def name_and_section(path):
    name, _, section = os.path.basename(path).rpartition('.')
    return name, section


def manuals(*paths):
    ours = {name_and_section(path) for path in paths}
    families = {name.split('-')[0] for name, _ in ours}
    for path in paths:
        for name, section in re.findall(r'^\.(?:It )?Xr (\S+) (\d)', read(path), re.M):
            if name.split('-')[0] in families and (name, section) not in ours:
                yield f'{path}: .Xr {name} {section}: no such page'


def page_options(text):
    """{option: its argument} of the .It Fl lines."""
    options = {}
    for line in re.findall(r'^\.It (Fl .*)', text, re.M):
        line = line.replace('\\&', '')
        argument = re.findall(r'(?:Ar|Cm) (\S+)', line)
        for flag in re.findall(r'Fl (\S+)', line):
            options['-' + flag] = argument[-1].lower() if argument else None
    return options


def help_options(text):
    """The same of what argp prints."""
    options = {}
    for line in re.findall(r'^ {2,6}(-.*?)(?: {2,}.*)?$', text, re.M):
        argument = re.search(r'=([^\s\]]+)', line)
        # an argument that may follow is in brackets: [=none]
        for flag in re.findall(r'(?:^|, )(--?[^\s,=\[]+)', line):
            options[flag] = argument.group(1).lower() if argument else None
    return options


def options(page, help_):
    documented, real = page_options(read(page)), help_options(read(help_))
    if not real:
        yield f'{help_}: has no option'
    for flag in sorted(documented.keys() | real.keys()):
        if flag not in real:
            yield f'{page}: {flag}: the program has no such option'
        elif flag not in documented:
            yield f'{page}: {flag}: not there'
        elif documented[flag] != real[flag]:
            yield f'{page}: {flag}: its argument is {real[flag]}, not {documented[flag]}'


# ---- the module ----

def module_parameters(text):
    """{name: default} of modinfo's lines."""
    return dict(re.findall(r'^parm:\s+(\w+):.*\(default (-?\d+)\)', text, re.M))


def document_parameters(text):
    """The same of a page's items (.It Va name Pq default) or of a table (| `name` | default |)."""
    return dict(re.findall(r'^\.It Va (\w+) Pq (-?\d+)', text, re.M) +
                re.findall(r'^\| `(\w+)` \| (-?\d+) \|', text, re.M))


def parameters(modinfo, *paths):
    real = module_parameters(read(modinfo))
    if not real or len(real) != len(re.findall(r'^parm:', read(modinfo), re.M)):
        yield f'{modinfo}: a parameter that tells no default'
    for path in paths:
        documented = document_parameters(read(path))
        for name in sorted(real.keys() | documented.keys()):
            if documented.get(name) != real.get(name):
                yield (f'{path}: {name}: default {documented.get(name, "not there")}, '
                       f'the module says {real.get(name, "no such parameter")}')


def abi(header, page):
    text, manual = read(header), read(page)
    info = re.search(r'^struct pmuring_info \{(.*?)^\}', text, re.M | re.S).group(1)
    wanted = {('Va', field) for field in re.findall(r'\b(\w+);', info)}
    wanted |= {('Dv', name) for name in re.findall(r'^#define (PMURING_IOC_(?!MAGIC)\w+)', text, re.M)}
    there = set(re.findall(r'^\.It (Va|Dv) (\w+)', manual, re.M))
    names = {name for _, name in there}
    for macro, name in sorted(wanted):
        if name not in names:
            yield f'{page}: {name}: not there'
    for macro, name in sorted(there):
        if macro == 'Dv' and name.startswith('PMURING_IOC_') and (macro, name) not in wanted:
            yield f'{page}: {name}: no such request'


def main():
    check = {'links': links, 'manuals': manuals, 'options': options,
             'parameters': parameters, 'abi': abi}[sys.argv[1]]
    complaints = list(check(*sys.argv[2:]))
    print(*complaints, sep='\n', end='\n' if complaints else '')
    sys.exit(bool(complaints))


main()
