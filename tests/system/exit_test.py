"""What sluiced says and how it ends when it can't start: one clear line and an exit code of its own for each cause."""
import json
import os
import socket
import subprocess
import tempfile

import lab

COMMAND_LINE, CONFIGURATION, PRIVILEGES, MEMORY, ADDRESS = 2, 3, 4, 5, 6


def ends(what, code, *args, config=None, words=(), before=()):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if config is not None:
            path = os.path.join(folder, "sluiced.yaml")
            with open(path, "w") as f:
                f.write(config if isinstance(config, str) else json.dumps(config))
            args += ("--config", path)
        done = subprocess.run([*before, lab.SLUICED, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    said = done.stderr.strip().splitlines()
    print("%s: %d, %s" % (what, done.returncode, said[-1] if said else "nothing"))
    assert done.returncode == code, "%s: expected %d\n%s" % (what, code, done.stderr)
    assert said and all(w in said[-1] for w in words), "%s: the last line should name %s\n%s" % (what, words, done.stderr)


def api(folder):
    return {"listen": ["unix://%s/sock" % folder]}


def free_huge_pages():
    with open("/proc/meminfo") as f:
        return int(next(line for line in f if line.startswith("HugePages_Free")).split()[1])


def test(stack):
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-test-"))
    ends("an option that is not there", COMMAND_LINE, "--no-such-option", words=["--no-such-option"])
    ends("an unknown key", CONFIGURATION, config="workers:\n  conut: 2\n", words=["sluiced.yaml:2:", "conut"])
    ends("a file that is not there", CONFIGURATION, "--config", folder + "/none.yaml", words=["none.yaml"])
    ends("checked only, and wrong", CONFIGURATION, "--check-config", config={"workers": {"idle": "sometimes"}}, words=["idle"])
    ends("bad devargs", CONFIGURATION, config={"api": api(folder), "ports": [{"name": "p1", "devargs": "no_such_driver"}]}, words=["no_such_driver"])
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    os.chmod(folder, 0o777)
    ends("a TAP port without privileges", PRIVILEGES, config={"api": api(folder), "ports": [lab.tap(1)]}, before=nobody)
    demand = {"huge_pages": "demand"}
    ends("more huge pages demanded than there are", MEMORY, config={"api": api(folder), "memory": {**demand, "megabytes": 1000000}}, words=["huge pages"])
    if free_huge_pages() >= 200:
        with lab.Switch([], memory=demand) as switch:
            assert switch.json("info")["huge_pages"] is True, "demanded huge pages are not in use"
            print("huge pages demanded and there: it runs")
    with lab.Switch([]) as other:
        ends("a socket in use", ADDRESS, config={"api": {"listen": ["unix://" + other.socket]}}, words=[other.socket])
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "127.0.0.1:%d" % other.getsockname()[1]
        ends("an address in use", ADDRESS, config={"api": {"listen": [address]}}, words=[address])
        ends("a metrics address in use", ADDRESS, config={"api": api(folder), "metrics": {"listen": address}}, words=[address])


lab.main(test)
