"""What the tests of the chart stand on: helm, the validators, and the chart's rendered objects.

tools.py installs them into BUILD/deploy-tools. What is missing makes a test skip and say so.
"""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CHART = os.path.join(ROOT, "helm", "sluice")
BUILD = os.environ.get("SLUICE_BUILD", os.path.join(ROOT, "build", "release"))
TOOLS = os.path.join(BUILD, "deploy-tools")
MODULES = os.path.join(TOOLS, "node_modules")
HELM = os.path.join(TOOLS, "bin", "helm")
SLUICED, SLUICECTL = os.path.join(BUILD, "server", "sluiced"), os.path.join(BUILD, "client", "sluicectl")
VALUES = {name: os.path.join(HERE, "values", name + ".yaml") for name in ("embedded", "production", "everything")}
SKIPPED = 77


def run(*command, check=True, stdin="", timeout=120, **kw):
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, **kw)
    if check and done.returncode:
        raise RuntimeError("%s: exit code %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def need(*programs, group="deploy"):
    """Skips the test unless these are there."""
    for program in programs:
        if shutil.which(program) is None:
            skip("no %s: tools/install-deps %s installs it" % (program, group))


def need_tools():
    need("node")
    if not os.path.exists(HELM):
        skip("no helm: the test deploy_tools installs it, and needs npm and its registry")


def arguments(values=None, sets=()):
    args = ["-f", VALUES[values]] if values else []
    for assignment in sets:
        args += ["--set", assignment]
    return args


def template(values=None, sets=(), check=True, release="sluice", namespace="net"):
    return run(HELM, "template", release, CHART, "--namespace", namespace, *arguments(values, sets), check=check)


def validate(*rendered):
    """For each rendered YAML its objects, and what the Kubernetes schemas have against them."""
    done = run("node", os.path.join(HERE, "objects.mjs"), MODULES, stdin=json.dumps(rendered))
    return [(result["objects"], result["problems"]) for result in json.loads(done.stdout)]


def render(*renderings):
    """Valid objects for each (values, sets)."""
    results = validate(*(template(values, sets).stdout for values, sets in renderings))
    for (values, sets), (_, problems) in zip(renderings, results):
        assert not problems, "%s %s:\n%s" % (values, sets, "\n".join(problems))
    return [objects for objects, _ in results]


def one(found, kind):
    chosen = [o for o in found if o["kind"] == kind]
    assert len(chosen) == 1, "%d objects of kind %s" % (len(chosen), kind)
    return chosen[0]


def config_of(found):
    return next(o["data"]["sluice.yaml"] for o in found if o["kind"] == "ConfigMap" and "sluice.yaml" in o["data"])


def container_of(found):
    return one(found, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]
