#!/usr/bin/env python3
"""Checks the sources against the house rules, and prints what is over budget.

Rules (a breach fails): who may include whom, as ARCHITECTURE.md draws it; a source includes its own header first; headers
say `#pragma once`. Budgets (printed only): 200 lines a header, 400 a source, 40 a function.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = ("dataplane", "server", "client", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
HEADER_LINES, SOURCE_LINES, FUNCTION_LINES = 200, 400, 40

# (files, includes, what it means): a file that the first matches must not include what the second matches.
RULES = [
    (r"(?!dataplane/(port|worker)/|dataplane/dataplane\.cc|tests/)", r"rte_.*|.*/rte_.*", "DPDK is known to dataplane/port and dataplane/worker"),
    (r"tests/(?!unit/dataplane/|support/|bench/)", r"rte_.*", "DPDK is known to the dataplane's own tests"),
    (r"(?!server/\w+_service\.(cc|h)|server/main\.cc|client/client\.cc|tests/)", r"(grpc|grpcpp)/.*|.*\.grpc\.pb\.h", "gRPC is known to services, main and the client's channel"),
    (r"dataplane/", r"(sluice|google|grpc|grpcpp|prometheus)/.*|.*\.pb\.h|(server|client)/.*", "the dataplane knows neither its API nor its server"),
    (r"dataplane/packet/", r"dataplane/(?!packet/).*", "packet knows nobody"),
    (r"dataplane/(flow|classifier)/", r"dataplane/(port|worker)/(?!reclaimer\.h).*", "flow and classifier know packet and the reclaimer"),
    (r"client/", r"(dataplane|server)/.*", "the client knows the API only"),
    (r"server/", r"client/.*|dataplane/(?!dataplane\.h|flow/|packet/(field|key)\.h|port/port_config\.h).*", "the server knows what dataplane.h names"),
]


def sources():
    for top in CODE:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def breaches(path, text):
    includes = INCLUDE.findall(text)
    for files, forbidden, meaning in RULES:
        if re.match(files, path):
            for include in includes:
                if re.fullmatch(forbidden, include):
                    yield "%s includes %s: %s" % (path, include, meaning)
    if path.endswith(".h") and "#pragma once" not in text:
        yield "%s: no #pragma once" % path
    own = path[:-3] + ".h"
    if path.endswith(".cc") and os.path.exists(os.path.join(ROOT, own)) and includes[:1] != [own]:
        yield "%s: its own header comes first" % path


def long_functions(text):
    """(first line's number, lines) of functions over budget. Google style: a function's body closes at its own indent."""
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        if start is None and re.match(r"(  )?[A-Za-z_~].*\)[^;=]*\{$", line) and not re.match(r"\s*(namespace|class|struct|enum|if|for|while|switch)\b", line):
            start, closing = number, re.match(r"\s*", line).group() + "}"
        elif start is not None and line.rstrip(";") == closing:
            if number - start + 1 > FUNCTION_LINES:
                yield start, number - start + 1
            start = None


def over_budget(path, text):
    lines, most = text.count("\n"), HEADER_LINES if path.endswith(".h") else SOURCE_LINES
    if lines > most:
        yield "%s: %d lines, budget %d" % (path, lines, most)
    for at, count in long_functions(text):
        yield "%s:%d: a function of %d lines, budget %d" % (path, at, count, FUNCTION_LINES)


def main():
    failed, count = False, 0
    for path in sources():
        with open(os.path.join(ROOT, path)) as f:
            text = f.read()
        count += 1
        for line in breaches(path, text):
            failed = True
            print(line)
        for line in over_budget(path, text):
            print("over budget: " + line)
    print("%d files looked at" % count)
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
