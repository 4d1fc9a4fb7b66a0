"""What the public functions and types of the library look like to a compiled program, a line each: from the
description of abidw (libabigail), which reads the debug information of the library.

    test/abi_types.py LIBRARY

A function is its result and its parameters; a type the bytes it has, its members and their offsets in bytes, or the
values of its constants. Of a struct that begins with `size_t size`, which tells the library how much of it the
caller knows, no number of bytes is given: members may be added behind the last one. Status 77: there is no abidw, or no
debug information.
"""
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET


def describe(library):
    options = ['--headers-dir', 'frontend', '--drop-private-types', '--no-corpus-path', '--no-comp-dir-path', '--no-elf-needed']
    text = subprocess.run(['abidw', *options, library], check=True, stdout=subprocess.PIPE).stdout
    return ET.fromstring(text)


class Types:
    def __init__(self, root):
        self.by_id = {}
        self.functions = []
        for node in root.iter():
            if node.tag == 'function-decl':
                self.functions.append(node)
            elif 'id' in node.attrib:
                known = self.by_id.get(node.get('id'))
                if known is None or known.get('is-declaration-only'):
                    self.by_id[node.get('id')] = node
        self.facts = set()
        self.seen = set()

    def signature(self, node):
        result = 'void'
        parameters = []
        for child in node:
            if child.tag == 'return':
                result = self.name(child.get('type-id'))
            elif child.tag == 'parameter':
                parameters.append('...' if child.get('is-variadic') else self.name(child.get('type-id')))
        return f'{result} ({", ".join(parameters) or "void"})'

    def name(self, type_id):
        """As C writes it, nearly; what it refers to is noted too."""
        node = self.by_id[type_id]
        if node.tag == 'pointer-type-def':
            return self.name(node.get('type-id')) + ' *'
        if node.tag == 'qualified-type-def':
            words = [word for word in ('const', 'volatile') if node.get(word) == 'yes']
            inner = self.name(node.get('type-id'))
            return f'{inner}{" ".join(words)}' if inner.endswith('*') else f'{" ".join(words)} {inner}'
        if node.tag == 'array-type-def':
            return f'{self.name(node.get("type-id"))}[{node.find("subrange").get("length")}]'
        if node.tag == 'function-type':
            return self.signature(node)
        self.note(node)
        return node.get('name')

    def note(self, node):
        name = node.get('name')
        if not name.startswith('vf_') or node.get('id') in self.seen:
            return
        self.seen.add(node.get('id'))
        if node.tag == 'typedef-decl':
            target = self.name(node.get('type-id'))
            if target != name:
                self.facts.add(f'type {name}: {target}')
        elif node.tag == 'enum-decl':
            for constant in node.iter('enumerator'):
                self.facts.add(f'constant {constant.get("name")}: {constant.get("value")}, of {name}')
        elif re.search(r'\bfrontend/viewfold\w*[.]h$', node.get('filepath', '')):
            self.members(name, node)
        else:
            self.facts.add(f'type {name}: unknown to users')

    def members(self, name, node):
        grows = False
        for number, member in enumerate(node.iter('data-member')):
            variable = member.find('var-decl')
            offset = int(member.get('layout-offset-in-bits', 0)) // 8
            of = self.name(variable.get('type-id'))
            grows |= number == 0 and (variable.get('name'), of) == ('size', 'size_t')
            self.facts.add(f'member {name}.{variable.get("name")}: {of}, at {offset}')
        if not grows:
            self.facts.add(f'type {name}: {int(node.get("size-in-bits")) // 8} bytes')


def main():
    if not shutil.which('abidw'):
        print('there is no abidw (package abigail-tools)', file=sys.stderr)
        sys.exit(77)
    root = describe(sys.argv[1])
    types = Types(root)
    exported = {symbol.get('name') for symbol in root.iter('elf-symbol')}
    for function in types.functions:
        if function.get('name') in exported:
            types.facts.add(f'function {function.get("name")}: {types.signature(function)}')
    if not types.facts:
        print(f'{sys.argv[1]} has no debug information', file=sys.stderr)
        sys.exit(77)
    print('\n'.join(sorted(types.facts)))


main()
