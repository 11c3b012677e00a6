#!/usr/bin/env python3
"""sluicectl as people use it: what it prints, its exit codes, replay. Without root.

    sluicectl_test.py SLUICECTL SLUICED
"""
import contextlib
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SLUICECTL, SLUICED = sys.argv[1:3]
OK, REFUSED, USAGE, UNREACHABLE = 0, 1, 2, 3


def run(*args, stdin="", env=None):
    done = subprocess.run([SLUICECTL, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def frame(destination, source=b"\2\0\0\0\0\1", payload=b"\x88\xb5" + bytes(46)):
    return bytes(5) + bytes([destination]) + source + payload


def pcap(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for data in frames:
            f.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def read_pcap(path):
    with open(path, "rb") as f:
        frames, content = [], f.read()
    assert content[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"), content[:4]
    at = 24
    while at < len(content):
        size = struct.unpack("<I", content[at + 8:at + 12])[0]
        frames.append(content[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def parse_pcapng(content):
    """Names of interfaces, packets, comments of statistics; of a file that still grows the whole blocks."""
    def options(body, at):
        found = {}
        while at < len(body):
            code, size = struct.unpack("<HH", body[at:at + 4])
            if code == 0:
                break
            found[code] = body[at + 4:at + 4 + size]
            at += 4 + (size + 3) // 4 * 4
        return found

    names, packets, statistics, at = [], [], [], 0
    while at + 12 <= len(content):
        kind, size = struct.unpack("<II", content[at:at + 8])
        if at + size > len(content):
            break
        body = content[at + 8:at + size - 4]
        if kind == 1:
            names.append(options(body, 8)[2].decode())
        elif kind == 5:
            statistics.append(options(body, 12).get(1, b""))
        elif kind == 6:
            interface, high, low, kept, length = struct.unpack("<IIIII", body[:20])
            found = options(body, 20 + (kept + 3) // 4 * 4)
            packets.append({"interface": interface, "time": high << 32 | low, "length": length, "data": body[20:20 + kept],
                            "direction": struct.unpack("<I", found[2])[0], "comment": found.get(1, b"")})
        at += size
    return names, packets, statistics


def read_pcapng(path):
    with open(path, "rb") as f:
        return parse_pcapng(f.read())


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sluicectl-test-")
        cls.address = "unix://" + os.path.join(cls.folder.name, "sock")
        config = os.path.join(cls.folder.name, "sluiced.yaml")
        with open(config, "w") as f:
            json.dump({"api": {"listen": [cls.address]}}, f)
        cls.log = open(os.path.join(cls.folder.name, "log"), "w+")
        cls.process = subprocess.Popen([SLUICED, "--config", config], stdout=cls.log, stderr=cls.log)
        for _ in range(600):
            if run("--address", cls.address, "info")[0] == OK:
                return
            if cls.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit("sluiced did not start:\n" + open(cls.log.name).read())

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(30)
        cls.log.close()
        cls.folder.cleanup()

    def ctl(self, *args, code=OK, stdin=""):
        got, out, err = run("--address", self.address, *args, stdin=stdin)
        self.assertEqual(got, code, "%s\n%s%s" % (args, out, err))
        return out if code == OK else err

    def json(self, *args):
        return json.loads(self.ctl("-o", "json", *args))

    def setUp(self):
        self.ctl("flow", "delete")
        for port in self.json("port", "list")["ports"]:
            self.ctl("port", "delete", port["spec"]["name"])

    def test_exit_codes(self):
        self.assertIn("needs an IPv4 flow", self.ctl("flow", "add", "nw_dst=1.2.3.4,actions=1", code=USAGE))
        self.assertIn("NOT_FOUND", self.ctl("flow", "get", "12345678", code=REFUSED))
        self.assertIn("expected one of --tap", self.ctl("port", "add", "x", code=USAGE))
        self.ctl("flow", code=USAGE)
        self.ctl("nonsense", code=USAGE)
        self.ctl("-o", "xml", "info", code=USAGE)
        code, _, err = run("--address", "nonsense", "info")
        self.assertEqual(code, USAGE)
        self.assertIn("no address", err)
        code, _, err = run("--address", self.address + "-not", "info")
        self.assertEqual(code, UNREACHABLE)
        self.assertIn("cannot reach the switch at " + self.address + "-not", err)
        self.assertEqual(run("--help")[0], OK)

    def test_address_from_the_environment(self):
        self.assertEqual(run("info", env={"SLUICE_ADDRESS": self.address})[0], OK)

    def test_ports(self):
        self.assertEqual(self.ctl("port", "add", "a", "--number", "7", "--ring", "--mtu", "9000"), "port 7 (a) added\n")
        sent = os.path.join(self.folder.name, "sent.pcap")
        self.ctl("port", "add", "b", "--pcap-tx", sent, "--no-receive")
        self.ctl("port", "add", "c", "--null", "--disabled")
        ports = {p["spec"]["name"]: p for p in self.json("port", "list")["ports"]}
        self.assertEqual(ports["a"]["spec"]["number"], 7)
        self.assertEqual(ports["a"]["spec"]["mtu"], 9000)
        self.assertEqual(ports["b"]["spec"]["number"], 1)
        self.assertEqual(ports["b"]["spec"]["pcap"]["tx_file"], sent)
        self.assertTrue(ports["c"]["spec"]["disabled"])
        self.ctl("port", "enable", "c")
        self.ctl("port", "disable", "7")
        lines = [line.split() for line in self.ctl("port", "list").splitlines()]
        self.assertEqual(lines[0][:4], ["PORT", "NAME", "DEVICE", "STATE"])
        self.assertEqual([line[:4] for line in lines[1:]], [["1", "b", "pcap", "no"], ["2", "c", "null", "up"], ["7", "a", "ring", "disabled"]])
        self.assertIn("net_ring", self.ctl("-o", "wide", "port", "list"))
        self.assertIn("ALREADY_EXISTS", self.ctl("port", "add", "a", "--ring", code=REFUSED))
        self.assertEqual(self.ctl("port", "delete", "7"), "port 7 (a) deleted\n")
        self.ctl("port", "delete", "a", code=REFUSED)

    def test_flows(self):
        self.ctl("port", "add", "left", "--number", "3", "--ring")
        self.assertRegex(self.ctl("flow", "add", "priority=5,in_port=left,actions=output:2", "ip,actions=drop"), r"^flow \d+ added\nflow \d+ added\n$")
        self.assertRegex(self.ctl("flow", "add", "priority=5,in_port=3,cookie=0x10,actions=left"), r"^flow \d+ replaced\n$")
        self.assertEqual(self.ctl("flow", "list"), "cookie=0x10, n_packets=0, n_bytes=0, priority=5,in_port=3 actions=output:3\n"
                                                   "n_packets=0, n_bytes=0, priority=32768,ip actions=drop\n")
        self.assertEqual(len(self.json("flow", "list", "in_port=3")["flows"]), 1)
        self.assertEqual(len(self.json("flow", "list", "cookie=0x10/0xf0")["flows"]), 1)
        self.assertEqual(self.json("flow", "list", "out_port=9"), {"flows": []})
        flow = self.json("flow", "get", "priority=5,in_port=3")
        self.assertEqual(self.json("flow", "get", flow["id"]), flow)
        self.assertEqual(self.json("flow", "add", "udp,actions=1")["flows"][0]["spec"]["priority"], 32768)
        # Nothing is added if one of them is wrong.
        self.ctl("flow", "add", "arp,actions=1", "arp,actions=outptu:1", code=USAGE)
        self.assertEqual(len(self.json("flow", "list")["flows"]), 3)

    def test_groups(self):
        self.ctl("group", "delete")
        self.ctl("port", "add", "left", "--number", "3", "--ring")
        text = "group_id=7,type=select,selection_method=hash,fields(ip_src,ip_dst),bucket=weight:10,watch_port:left,output:2,bucket=actions=mod_nw_dst:10.0.0.1,dec_ttl,output:3"
        self.assertEqual(self.ctl("group", "add", text, "group_id=8,type=all"), "2 groups added\n")
        listed = self.ctl("group", "list")
        self.assertEqual(listed, "n_packets=0, n_bytes=0, group_id=7,type=select,selection_method=hash,fields(ip_src,ip_dst),"
                                 "bucket=bucket_id:0,weight:10,watch_port:3,actions=output:2,"
                                 "bucket=bucket_id:1,weight:1,actions=set_field:10.0.0.1->ip_dst,dec_ttl,output:3\n"
                                 "n_packets=0, n_bytes=0, group_id=8,type=all\n")
        self.assertIn("ALREADY_EXISTS", self.ctl("group", "add", "group_id=8,type=all", code=REFUSED))
        # What is listed, counters and all, is read again.
        for wide in ((), ("-o", "wide")):
            text = self.ctl(*wide, "group", "list")
            self.assertEqual(self.ctl("group", "delete"), "2 groups deleted\n")
            self.assertEqual(self.ctl("group", "add-file", "-", stdin=text), "2 groups loaded\n")
            self.assertEqual(self.ctl("group", "list"), listed)
        self.ctl("group", "modify", "group_id=9,type=ff,bucket=watch_group:8,group:8", code=REFUSED)
        self.assertEqual(self.ctl("group", "modify", "--may-create", "group_id=9,type=ff,bucket=watch_group:8,group:8"), "1 group modified\n")
        self.assertIn("8 -> 9 -> 8", self.ctl("group", "modify", "group_id=8,type=all,bucket=group:9", code=REFUSED))
        self.assertEqual(self.json("group", "get", "9")["spec"]["type"], "GROUP_TYPE_FAST_FAILOVER")
        self.assertEqual(self.ctl("group", "delete", "group_id=9"), "1 group deleted\n")
        for wrong, said in (("type=all", "expected group_id=1"), ("group_id=1", "expected type="), ("group_id=1,type=any", "is no type of group"),
                            ("group_id=1,type=all,bucket=wieght:1,output:2", "group:1:28: unknown action"), ("group_id=1,type=all,color=3", "unknown word"),
                            ("group_id=0,type=all", "group_id"), ("group_id=1,type=select,fields(nose)", "unknown field")):
            self.assertIn(said, self.ctl("group", "add", wrong, code=USAGE))
        self.assertIn("exactly one", self.ctl("group", "add", "group_id=1,type=indirect", code=REFUSED))
        self.ctl("group", "delete")

    def test_meters(self):
        self.ctl("meter", "delete")
        text = "meter=1,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=100,type=dscp_remark,rate=10,prec_level=1"
        self.assertEqual(self.ctl("meter", "add", text, "meter=2,band=type=drop,rate=5"), "2 meters added\n")
        listed = self.ctl("meter", "list")
        self.assertEqual(listed, "n_packets=0, n_bytes=0, %s\nn_packets=0, n_bytes=0, meter=2,kbps,stats,bands=type=drop,rate=5\n" % text)
        for wide in ((), ("-o", "wide")):
            text = self.ctl(*wide, "meter", "list")
            self.assertEqual(self.ctl("meter", "delete"), "2 meters deleted\n")
            self.assertEqual(self.ctl("meter", "add-file", "-", stdin=text), "2 meters loaded\n")
            self.assertEqual(self.ctl("meter", "list"), listed)
        self.assertIn("NOT_FOUND", self.ctl("meter", "modify", "meter=3,bands=type=drop,rate=5", code=REFUSED))
        self.assertEqual(self.json("meter", "get", "meter=2")["spec"]["unit"], "METER_UNIT_KBPS")
        for wrong, said in (("pktps,bands=type=drop,rate=1", "expected meter=1"), ("meter=1", "no band"), ("meter=1,bands=type=drop", "no rate"),
                            ("meter=1,bands=type=drop,rate=0", "rate"), ("meter=1,bands=type=dorp,rate=1", "is no type of band"), ("meter=1,rate=3", "belongs to a band")):
            self.assertIn(said, self.ctl("meter", "add", wrong, code=USAGE))
        self.ctl("meter", "delete")

    def test_modify_and_delete(self):
        self.ctl("flow", "add-file", "-", stdin="priority=1,ip,actions=1\npriority=2,tcp,cookie=7,actions=1\npriority=3,ipv6,actions=1\n")
        self.assertEqual(self.ctl("flow", "modify", "priority=77,ip,actions=2"), "2 flows modified\n")
        self.assertEqual(self.ctl("flow", "modify", "cookie=7/-1,cookie=8,actions=drop"), "1 flow modified\n")
        self.ctl("flow", "modify", "--strict", "priority=77,ip,actions=3", code=REFUSED)
        self.assertEqual(self.ctl("flow", "modify", "--strict", "priority=1,ip,actions=3"), "1 flow modified\n")
        lines = [line.split("n_bytes=0, ")[1] for line in self.ctl("flow", "list").splitlines()]
        self.assertEqual(lines, ["priority=1,ip actions=output:3", "priority=2,tcp actions=drop", "priority=3,ipv6 actions=output:1"])
        self.assertIn("cookie=0x8", self.ctl("flow", "list", "tcp"))
        self.ctl("flow", "delete", "--strict", "ip", code=REFUSED)
        self.assertEqual(self.json("flow", "delete", "--strict", "priority=1,ip"), {"deleted_count": "1", "stats": {"packets": "0", "bytes": "0"}})
        self.assertEqual(self.ctl("flow", "delete"), "2 flows deleted; they had counted 0 packets, 0 bytes\n")

    def test_add_file_is_all_or_nothing_on_typing_errors(self):
        err = self.ctl("flow", "add-file", "-", stdin="ip,actions=1\nip,actions=learn(x)\n", code=USAGE)
        self.assertEqual(err, "standard input:2:12: action learn is not supported by this switch\n")
        self.assertEqual(self.ctl("flow", "list"), "")
        err = self.ctl("flow", "add-file", "-", stdin="ip,actions=1\n\ntable=5,actions=goto_table:5\n", code=REFUSED)
        self.assertEqual(err, "standard input:3: flow.actions[0].goto_table.table_id: 5 is not behind the flow's own table 5: a packet only goes forward\n")
        self.assertEqual(len(self.json("flow", "list")["flows"]), 1)
        self.ctl("flow", "add-file", "/no/such/file", code=USAGE)
        self.assertIn("/tmp: Is a directory", self.ctl("flow", "add-file", "/tmp", code=USAGE))

    def test_a_full_disk_is_no_success(self):
        self.ctl("flow", "add", "priority=3,ip,actions=1")
        with open("/dev/full", "w") as full:
            done = subprocess.run([SLUICECTL, "--address", self.address, "flow", "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("No space left", done.stderr)

    def test_lists_can_be_loaded(self):
        flows = ["priority=%d,tcp,dl_vlan=%d,nw_src=10.%d.0.0/16,tp_dst=80,actions=mod_vlan_vid:%d,output:%d" % (i, i, i, i + 1, i + 1) for i in range(200)]
        self.ctl("flow", "add-file", "-", stdin="\n".join(flows))
        before = self.json("flow", "list")["flows"]
        for form in "table", "wide":
            listed = self.ctl("-o", form, "flow", "list")
            self.ctl("flow", "delete")
            self.assertEqual(self.ctl("flow", "add-file", "-", stdin=listed), "200 flows loaded\n")
            after = self.json("flow", "list")["flows"]
            self.assertEqual([f["spec"] for f in after], [f["spec"] for f in before])

    def test_ranges_of_ports(self):
        flows = ["priority=3,udp,tp_dst=1000-2000 actions=output:1", "priority=2,tcp6,tp_src=0x50/0xf0,tp_dst=5-10 actions=drop",
                 "priority=1,sctp,tp_src=1-65535,tp_dst=80 actions=drop"]
        self.ctl("flow", "add-file", "-", stdin="\n".join(flows))
        listed = self.ctl("flow", "list")
        self.assertEqual([line.split("n_bytes=0, ")[1] for line in listed.splitlines()], flows)
        self.ctl("flow", "delete")
        self.assertEqual(self.ctl("flow", "add-file", "-", stdin=listed), "3 flows loaded\n")
        self.assertRegex(self.ctl("flow", "add", "priority=1,sctp,tp_src=1-65535,tp_dst=80-80,actions=1"), r"^flow \d+ replaced\n$")
        self.assertIn("dl_type,nw_proto,tp_dst/range\n", self.ctl("mask", "list"))
        self.assertEqual(self.ctl("flow", "list", "udp,tp_dst=1000-1999"), "")
        self.assertTrue(self.ctl("flow", "delete", "udp,tp_dst=999-2000").startswith("1 flow deleted"))
        err = self.ctl("flow", "add", "udp,tp_dst=2000-1000,actions=1", code=USAGE)
        self.assertEqual(err, "command line:1:12: tp_dst: 2000-1000 ends below where it begins; expected 1000-2000\n")

    def test_tables_and_masks(self):
        self.ctl("flow", "add", "priority=5,ip,nw_dst=10.0.0.0/8,actions=1", "priority=9,in_port=1,actions=1", "priority=0,actions=1")
        self.assertEqual(self.ctl("table", "list").split()[7:10], ["0", "3", "3"])
        lines = [line.split() for line in self.ctl("mask", "list").splitlines()]
        self.assertEqual([line[-1] for line in lines[1:3]], ["in_port", "dl_type,nw_dst/8"])
        self.assertIn("(everything matches)", self.ctl("mask", "list"))
        self.assertEqual([m["max_priority"] for m in self.json("mask", "list")["masks"]], [9, 5, 0])

    def test_tables_wide(self):
        self.ctl("flow", "add", *["priority=5,dl_dst=00:00:00:00:00:%02x/00:00:00:00:00:%02x,actions=1" % (bits, bits) for bits in range(1, 21)])
        header, row = (line.split() for line in self.ctl("-o", "wide", "table", "list").splitlines()[:2])
        table = dict(zip(header, row))
        self.assertEqual((table["MASKS"], table["INDEXED-MASKS"]), ("20", "20"))
        self.assertGreater(int(table["INDEX-BYTES"]), 0)
        self.assertEqual({"MASKS-VISITED", "PRUNED", "MASK-CACHE-HITS"} - set(header), set())
        self.assertNotIn("INDEXED-MASKS", self.ctl("table", "list"))

    def test_masks_are_put_in_order(self):
        self.assertEqual(self.ctl("mask", "resort"), "masks are in order\n")
        self.assertEqual(self.json("mask", "resort"), {})

    def test_lint(self):
        self.ctl("flow", "delete")
        self.ctl("flow", "add", "priority=20,ip,actions=1")
        self.assertEqual(self.ctl("flow", "lint"), "1 flows, nothing found\n")
        self.ctl("flow", "add", "priority=10,tcp,tp_dst=80,actions=drop", "table=9,actions=1")
        code, out, _ = run("--address", self.address, "flow", "lint")
        self.assertEqual(code, REFUSED)
        self.assertRegex(out, r"shadowed: flow \d+: priority=10,tcp,tp_dst=80 actions=drop\n  never wins: .* priority=20,ip actions=output:1\n")
        self.assertRegex(out, r"unreachable: table 9: .*; its first flow is flow \d+: table=9, ?priority=32768 actions=output:1\n3 flows, 2 findings\n")
        self.ctl("table", "set", "8", "--miss", "continue")
        self.ctl("flow", "add", "priority=21,actions=goto_table:8")
        code, out, _ = run("--address", self.address, "-o", "json", "flow", "lint")
        self.assertEqual([f["kind"] for f in json.loads(out)["findings"]], ["shadowed", "shadowed"])
        self.ctl("table", "set", "8", "--miss", "drop")
        self.ctl("flow", "delete")

    def test_lint_of_a_file(self):
        # No switch is asked.
        def lint(text, *args):
            return run("--address", "unix:///nowhere", "flow", "lint", "-", *args, stdin=text)

        self.assertEqual(lint("ip,actions=1\n# a comment\narp,actions=2\n"), (OK, "2 flows, nothing found\n", ""))
        # A flow that is said again is one flow, as old as it was.
        code, out, _ = lint("tcp,actions=1\nip,actions=2\ntcp,actions=3\n")
        self.assertEqual(code, REFUSED)
        self.assertRegex(out, r"overlap: line 1: .*tcp actions=output:3\n  and line 2: ")
        self.assertRegex(out, r"2 flows, 1 findings\n$")
        code, out, _ = lint("in_port=1,actions=1\nip,actions=1\ndl_vlan=1,actions=1", "--overlaps", "1")
        self.assertIn("(their actions are the same)\nthere are more overlaps: --overlaps 0 lists all\n", out)
        code, _, err = lint("ip,actions=1\nip,frog=1,actions=1\n")
        self.assertEqual(code, USAGE)
        self.assertIn("standard input:2:4: ", err)
        self.assertEqual(run("flow", "lint", "/nonexistent")[0], USAGE)

    def test_packets_to_and_from_controllers(self):
        """A ring port receives what it sends, so that a packet that is sent there goes to the flow."""
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.ctl("flow", "add", "cookie=0x7,in_port=1,actions=controller:20")
        data = frame(9).hex()
        self.assertEqual(self.ctl("packet", "out", "--in-port", "1", "--through-tables", data), "0 of 1 forwarded, 1 dropped (no_controller)\n")
        command = [SLUICECTL, "--address", self.address, "packet", "in", "--count", "2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
            for _ in range(600):
                self.assertEqual(self.ctl("packet", "out", "--actions", "output:1", data), "1 of 1 forwarded\n")
                if watch.poll() is not None:
                    break
                time.sleep(0.05)
            lines = watch.stdout.read().splitlines()
        self.assertEqual(watch.returncode, OK)
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^\d\d:\d\d:\d\d\.\d{6} in_port=1\(r1\) reason=action table=0 cookie=0x7 length=60 kept=20 %s$" % data[:40])
        self.assertEqual(self.ctl("packet", "out", data), "0 of 1 forwarded, 1 dropped (action_drop)\n")
        capture = os.path.join(self.folder.name, "out.pcap")
        pcap(capture, [frame(1), frame(2)])
        self.assertEqual(self.ctl("packet", "out", "--actions", "output:1", "-r", capture), "2 of 2 forwarded\n")
        self.assertIn("two digits a byte", self.ctl("packet", "out", "xyz", code=USAGE))
        self.assertIn("--read FILE", self.ctl("packet", "out", code=USAGE))
        self.assertIn("NOT_FOUND", self.ctl("packet", "out", "--in-port", "9", data, code=REFUSED))

    @contextlib.contextmanager
    def running(self, *args, **kw):
        """A command that goes on while the body runs; it captures from when that begins."""
        with subprocess.Popen([SLUICECTL, "--address", self.address, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw) as process:
            try:
                line = process.stderr.readline()
                self.assertEqual(line, b"capturing; Ctrl-C ends it\n", process.stderr.read() if line else "")
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def send(self, *frames):
        for data in frames:
            self.assertEqual(self.ctl("packet", "out", "--actions", "output:1", data.hex()), "1 of 1 forwarded\n")

    def test_a_capture_becomes_a_file(self):
        """What is sent into a ring port goes out, comes in, and has no flow."""
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.ctl("port", "add", "r2", "--ring", "--number", "2")
        path = os.path.join(self.folder.name, "all.pcapng")
        sent = [frame(9, payload=b"\x88\xb5" + bytes([i]) * (46 + i)) for i in range(5)]
        before = time.time_ns()
        with self.running("capture", "--port", "r1", "-w", path) as capture:
            self.send(*sent)
            self.until(lambda: len(read_pcapng(path)[1]) == 15)
            capture.send_signal(signal.SIGINT)
            self.assertEqual(capture.wait(30), OK)
            self.assertEqual(capture.stderr.read(), b"15 packets captured, 0 missed\n")
        names, packets, statistics = read_pcapng(path)
        self.assertEqual(names, ["r1"])
        self.assertEqual(len(statistics), 1)
        self.assertIn(b"0 missed", statistics[0])
        inbound, outbound = 1, 2
        for i, data in enumerate(sent):
            mine = [p for p in packets if p["data"] == data]
            self.assertEqual([(p["direction"], p["comment"]) for p in mine], [(outbound, b""), (inbound, b""), (inbound, b"dropped: no_flow")], i)
            self.assertTrue(all(before - 10**9 < p["time"] < time.time_ns() + 10**9 for p in mine))
        self.assertEqual(len(packets), 15)
        # libpcap reads it, too.
        self.assertEqual(self.ctl("packet", "out", "--actions", "output:2", "-r", path), "15 of 15 forwarded\n")

    def test_captures_select(self):
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.ctl("flow", "add", "in_port=1,dl_type=0x88b5,actions=drop")
        flow = self.json("flow", "list")["flows"][0]["id"]
        pipe = self.running("capture", "--direction", "in,dropped", "--filter", "dl_dst=00:00:00:00:00:07", "--snaplen", "20", "-c", "2", "-w", "-")
        text = self.running("capture", "--flow", flow, "-c", "1")
        timed = self.running("capture", "--duration", "0.2", "--direction", "out")
        with pipe as pipe, text as text, timed as timed:
            self.assertEqual(timed.wait(30), OK)
            self.send(frame(8), frame(7))
            out, err = pipe.communicate(timeout=30)
            self.assertEqual((pipe.returncode, err), (OK, b"2 packets captured, 0 missed\n"))
            names, packets, _ = parse_pcapng(out)
            self.assertEqual(names, ["r1"])
            self.assertEqual([(p["data"], p["length"], p["comment"]) for p in packets],
                             [(frame(7)[:20], 60, b""), (frame(7)[:20], 60, b"dropped: action_drop")])
            out, _ = text.communicate(timeout=30)
            self.assertRegex(out.decode(), r"^\d\d:\d\d:\d\d\.\d{9} matched port=1\(r1\) flow=%s length=60 %s\n$" % (flow, frame(8).hex()))

    def test_what_a_capture_cannot_do(self):
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.assertIn("NOT_FOUND: there is no port 9", self.ctl("capture", "--port", "9", code=REFUSED))
        self.assertIn("NOT_FOUND", self.ctl("capture", "--flow", "123456", code=REFUSED))
        self.ctl("capture", "--flow", "1", "--port", "r1", code=USAGE)
        self.ctl("capture", "--direction", "sideways", code=USAGE)
        self.assertIn("of flows", self.ctl("capture", "--filter", "table=1,ip", code=USAGE))
        self.assertIn("tp_dst", self.ctl("capture", "--filter", "tp_dst=80", code=USAGE))
        self.assertIn("No such file", self.ctl("capture", "-w", self.folder.name + "/none/a", code=REFUSED))
        if os.access("/dev/full", os.W_OK):
            self.assertIn("No space left", self.ctl("capture", "-w", "/dev/full", code=REFUSED))
        primary, secondary = pty.openpty()
        done = subprocess.run([SLUICECTL, "--address", self.address, "capture", "-w", "-"], stdout=secondary, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("standard output is a terminal", done.stderr)
        os.close(primary)
        os.close(secondary)

    def test_a_capture_ends_with_its_reader_or_port(self):
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        path = os.path.join(self.folder.name, "gone.pcapng")
        with self.running("capture", "-w", "-") as capture, self.running("capture", "--port", "1", "-w", path) as of_port:
            capture.stdout.close()
            self.send(frame(9))
            self.assertEqual(capture.wait(30), REFUSED)
            self.assertIn(b"Broken pipe", capture.stderr.read())
            self.until(lambda: len(read_pcapng(path)[1]) == 3)
            self.ctl("port", "delete", "r1")
            self.assertEqual(of_port.wait(30), REFUSED)
            self.assertEqual(of_port.stderr.read(), b"3 packets captured, 0 missed\nsluicectl: NOT_FOUND: port 1 was deleted; its capture ends\n")
        self.assertEqual(len(read_pcapng(path)[2]), 1)

    def test_packets_to_controllers_become_a_file(self):
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.ctl("flow", "add", "cookie=0x17,in_port=1,dl_dst=00:00:00:00:00:07,actions=controller")
        self.ctl("flow", "add", "cookie=0x25,in_port=1,actions=controller")
        path = os.path.join(self.folder.name, "in.pcapng")
        self.assertIn("VALUE/MASK", self.ctl("packet", "in", "--cookie", "nonsense", code=USAGE))
        command = [SLUICECTL, "--address", self.address, "packet", "in", "--count", "2", "--cookie", "0x10/0xf0", "-w", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as watch:
            for _ in range(600):
                self.send(frame(8), frame(7))
                if watch.poll() is not None:
                    break
                time.sleep(0.05)
        self.assertEqual(watch.returncode, OK)
        names, packets, statistics = read_pcapng(path)
        self.assertEqual(names, ["r1"])
        self.assertEqual([p["data"] for p in packets], [frame(7)] * 2)
        self.assertRegex(packets[0]["comment"], rb"^reason=action table=0 flow=\d+ cookie=0x17$")
        self.assertEqual(len(statistics), 1)

    def until(self, done):
        for _ in range(600):
            if done():
                return
            time.sleep(0.05)
        self.fail("it did not happen")

    def test_misses_to_controllers(self):
        self.assertEqual(self.ctl("table", "set", "0", "--miss", "controller"), "table 0: packets without a flow go to controllers\n")
        self.assertIn("controller", self.ctl("table", "list"))
        self.ctl("table", "set", "0", "--miss", "drop")

    def test_stations(self):
        self.ctl("port", "add", "r1", "--ring", "--number", "1")
        self.ctl("mac", "flush")
        self.ctl("packet", "out", "--in-port", "1", "--actions", "NORMAL", frame(9).hex())
        lines = self.ctl("mac", "list").splitlines()
        self.assertEqual(lines[0].split(), ["PORT", "VLAN", "MAC", "AGE"])
        self.assertEqual(lines[1].split()[:3], ["1", "0", "02:00:00:00:00:01"])
        self.assertEqual(self.json("mac", "list", "--mac", "02:00:00:00:00:02")["macs"], [])
        self.assertEqual(self.json("mac", "list")["table"]["entries"], 1)
        self.assertEqual(self.ctl("mac", "flush", "--vlan", "1"), "0 forgotten\n")
        self.assertEqual(self.ctl("mac", "flush", "--port", "1"), "1 forgotten\n")
        self.assertIn("02:00:00:00:00:0a", self.ctl("mac", "list", "--mac", "2", code=USAGE))

    def test_settings(self):
        defaults = "flow_cache_entries=262144\npruning=true\nequal_priority=oldest\nmask_cache_entries=0\nresort_seconds=4\n"
        self.assertEqual(self.ctl("settings", "get"), defaults)
        self.assertEqual(self.ctl("settings", "set", "pruning=false", "resort_seconds=0.25"), defaults.replace("true", "false").replace("seconds=4", "seconds=0.250"))
        other = ["flow_cache_entries=0", "pruning=false", "equal_priority=any", "mask_cache_entries=256", "resort_seconds=1"]
        self.assertEqual(self.ctl("settings", "set", *other).split(), other)
        self.assertEqual(self.json("settings", "get"), {"flow_cache_entries": 0, "pruning": False, "equal_priority": "EQUAL_PRIORITY_ANY", "mask_cache_entries": 256, "resort_period": "1s"})
        for wrong, told in (("pruned_from=1", "\"pruned_from\" is no setting; expected KEY=VALUE with one of flow_cache_entries, pruning,"), ("pruning", "pruning has no value; expected pruning=VALUE: true or false"), ("pruning=", "pruning is \"\"; expected true or false"),
                            ("equal_priority=newest", "oldest or any"), ("flow_cache_entries=-1", "a number from 0, for none, to 16777216"), ("mask_cache_entries=1k", "a number"), ("resort_seconds=soon", "seconds from 0, for never, to 86400"),
                            ("resort_seconds=", "seconds from 0, for never, to 86400")):
            right = "equal_priority=any" if wrong.startswith("pruning") else "pruning=true"
            self.assertIn(told, self.ctl("settings", "set", right, wrong, code=USAGE))
        self.assertIn("pruning is given twice", self.ctl("settings", "set", "pruning=true", "pruning=true", code=USAGE))
        self.assertIn("flow_cache_entries: 16777217 entries are too many", self.ctl("settings", "set", "pruning=true", "flow_cache_entries=16777217", code=REFUSED))
        self.assertIn("resort_period: ", self.ctl("settings", "set", "resort_seconds=86401", code=REFUSED))
        self.assertEqual(self.ctl("settings", "get").split(), other, "changed by what was refused")
        self.ctl("settings", "set", code=USAGE)
        self.assertEqual(self.ctl("settings", "set", *defaults.split()), defaults)

    def test_flow_cache(self):
        source = os.path.join(self.folder.name, "again.pcap")
        pcap(source, [frame(1)] * 40)
        self.ctl("flow", "add", "actions=2")
        self.ctl("port", "add", "sink", "--number", "2", "--null")
        self.ctl("port", "add", "source", "--number", "1", "--pcap-rx", source)
        for _ in range(300):
            if self.json("flow", "list")["flows"][0]["stats"]["packets"] == "40":
                break
            time.sleep(0.1)
        lines = [line.split() for line in self.ctl("-o", "wide", "info").splitlines()]
        at = next(i for i, line in enumerate(lines) if line[:1] == ["WORKER"])
        worker = dict(zip(lines[at][-4:], lines[at + 1][-5:]))  # a ratio is two words
        self.assertGreaterEqual(int(worker["CACHE-HITS"]) + int(worker["CACHE-MISSES"]), 40)
        self.assertGreater(int(worker["CACHE-HITS"]), 0)
        self.assertNotIn("CACHE-HITS", self.ctl("info"))

    def test_stats(self):
        source = os.path.join(self.folder.name, "in.pcap")
        pcap(source, [frame(1), frame(2), frame(1)])
        self.ctl("flow", "add", "dl_dst=00:00:00:00:00:01,actions=output:2")
        self.ctl("port", "add", "out", "--number", "2", "--null")
        before = self.json("stats")["totals"]
        self.ctl("port", "add", "in", "--number", "1", "--pcap-rx", source)
        for _ in range(100):
            stats = self.json("stats")
            if int(stats["totals"]["received"]) - int(before["received"]) == 3:
                break
            time.sleep(0.1)
        self.assertEqual(int(stats["totals"]["forwarded"]) - int(before["forwarded"]), 2)
        self.assertEqual(int(stats["totals"]["drops"]["no_flow"]) - int(before["drops"]["no_flow"]), 1)
        self.assertEqual([int(p["stats"]["transmit_packets"]) for p in stats["ports"]], [0, 2])
        self.assertEqual(self.ctl("flow", "list"), "n_packets=2, n_bytes=120, priority=32768,dl_dst=00:00:00:00:00:01 actions=output:2\n")
        self.assertIn("received   ", self.ctl("stats"))


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluicectl-test-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def replay(self, *args, code=OK):
        got, out, err = run("replay", "--out-dir", self.path("out"), *args)
        self.assertEqual(got, code, out + err)
        return out if code == OK else err

    def test_captures_one_after_another(self):
        a, b, c = [frame(1, payload=bytes([0x88, 0xB5, n])) for n in range(50)], [frame(2), frame(9)] * 40, [frame(1), b"short"]
        big = frame(1, payload=b"\x88\xb5" + bytes(65407 - 14))
        for name, frames in ("a", a), ("b,odd [name]", b), ("c", c + [big]):
            pcap(self.path(name), frames)
        flows = self.write("flows", "cookie=0x1,priority=9,dl_dst=00:00:00:00:00:01,actions=output:3\ncookie=0x2,dl_dst=00:00:00:00:00:02,actions=all\n")
        for burst in "1", "32":
            out = self.replay("--flows", flows, "--in", "1=" + self.path("a"), "--in", "2=" + self.path("b,odd [name]"), "--in", "1=" + self.path("c"), "--rx-burst", burst)
            self.assertIn("133 frames received, 92 forwarded, dropped: malformed 1, no_flow 40\n", out)
            with open(self.path("out/flows.json")) as f:
                report = json.load(f)
            self.assertEqual(report["flows"], [
                {"table": 0, "cookie": "0x1", "priority": 9, "flow": "priority=9,dl_dst=00:00:00:00:00:01 actions=output:3", "packets": 52, "bytes": sum(map(len, a + [c[0], big]))},
                {"table": 0, "cookie": "0x2", "priority": 32768, "flow": "priority=32768,dl_dst=00:00:00:00:00:02 actions=ALL", "packets": 40, "bytes": 40 * 60}])
            self.assertEqual((report["misses"], report["malformed"]), (40, 1))
            self.assertEqual({reason: n for reason, n in report["drops"].items() if n}, {"malformed": 1, "no_flow": 40})
            self.assertEqual(sorted(report), ["drops", "flows", "groups", "malformed", "meters", "misses"])
            all_out = [f for f in b if f[5] == 2]
            self.assertEqual(sorted(os.listdir(self.path("out"))), ["flows.json"] + ["port-%d.pcap" % n for n in range(1, 5)])
            for port, frames in (1, all_out), (2, []), (3, a + all_out + [c[0], big]), (4, all_out):
                sent = read_pcap(self.path("out/port-%d.pcap" % port))
                self.assertEqual(list(map(len, sent)), list(map(len, frames)), port)
                self.assertTrue(sent == frames, port)

    def test_ranges_of_ports(self):
        def udp(port):
            head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
            return frame(1, payload=b"\x08\x00" + head + struct.pack("!HHHH", 4000, port, 8, 0) + bytes(18))

        pcap(self.path("in"), list(map(udp, range(900, 2100))))
        flows = self.write("flows", "priority=40000,udp,tp_dst=1500-1600,actions=3\nudp,tp_src=1-5000,tp_dst=1000-2000,actions=2\n")
        self.replay("--flows", flows, "--ports", "3", "--in", "1=" + self.path("in"))
        self.assertEqual(read_pcap(self.path("out/port-3.pcap")), list(map(udp, range(1500, 1601))))
        self.assertEqual(read_pcap(self.path("out/port-2.pcap")), list(map(udp, [*range(1000, 1500), *range(1601, 2001)])))

    def test_a_port_may_send_before_and_after_it_is_added_again(self):
        pcap(self.path("one"), [frame(1)] * 3)
        pcap(self.path("two"), [frame(2)] * 5)
        flows = self.write("flows", "actions=in_port")
        self.replay("--flows", flows, "--ports", "1", "--in", "1=" + self.path("one"), "--in", "1=" + self.path("two"))
        self.assertEqual(read_pcap(self.path("out/port-1.pcap")), [frame(1)] * 3 + [frame(2)] * 5)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["flows.json", "port-1.pcap"])

    def test_settings_reach_the_switch(self):
        """Of two flows of one priority that match, the older wins; or, if any may, that of the mask that is tried first."""
        pcap(self.path("in"), [frame(1)] * 3)
        source = frame(1)[6:12].hex(":")
        flows = self.write("flows", "priority=10,dl_dst=00:00:00:00:00:01,actions=2\npriority=20,dl_src=00:00:00:00:00:99,actions=4\npriority=10,dl_src=%s,actions=3\n" % source)
        for settings, port in ((), 2), (("equal_priority=any",), 3), (("flow_cache_entries=0", "equal_priority=any"), 3), (("flow_cache_entries=0",), 2):
            self.replay("--flows", flows, "--in", "1=" + self.path("in"), *(word for setting in settings for word in ("--set", setting)))
            self.assertEqual([len(read_pcap(self.path("out/port-%d.pcap" % n))) for n in (2, 3)], [3 * (port == n) for n in (2, 3)], settings)

    def test_refusals(self):
        pcap(self.path("a"), [frame(1)])
        flows, source = self.write("flows", "actions=1\n"), "1=" + self.path("a")
        self.assertIn("flows:1:9: unknown action", self.replay("--flows", self.write("bad-flows", "actions=foo\n"), "--in", source, code=USAGE))
        self.assertIn("not behind", self.replay("--flows", self.write("bad-table", "table=1,actions=goto_table:0\n"), "--in", source, code=REFUSED))
        self.assertIn("unknown file format", self.replay("--flows", flows, "--in", "1=" + flows * 1, code=USAGE))
        self.replay("--flows", flows, "--in", "nonsense", code=USAGE)
        self.replay("--flows", flows, code=USAGE)
        for wrong, told in (("pruned=1", "replay: --set: \"pruned\" is no setting"), ("pruning=1", "expected true or false")):
            self.assertIn(told, self.replay("--flows", flows, "--in", source, "--set", wrong, code=USAGE))
        self.assertIn("flow_cache_entries: 16777217 entries are too many", self.replay("--flows", flows, "--in", source, "--set", "flow_cache_entries=16777217", code=REFUSED))
        self.assertIn("No such file", self.replay("--flows", self.path("none"), "--in", source, code=USAGE))
        os.makedirs(self.path("out"), exist_ok=True)
        pcap(self.path("out/port-1.pcap"), [frame(1)])
        self.assertIn("would be overwritten", self.replay("--flows", flows, "--in", "1=" + self.path("out/port-1.pcap"), code=REFUSED))
        self.assertEqual(read_pcap(self.path("out/port-1.pcap")), [frame(1)])

    def test_interrupted_it_leaves_nothing(self):
        pcap(self.path("a"), [frame(1)])
        flows = self.write("flows", "actions=1\n")
        temporary = self.path("tmp")
        os.mkdir(temporary)
        process = subprocess.Popen([SLUICECTL, "replay", "--out-dir", self.path("out"), "--flows", flows, "--in", "1=" + self.path("a")],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "TMPDIR": temporary})
        children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        child = ""
        while not child and process.poll() is None:
            with open(children) as f:
                child = f.read().strip()
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=60)[0]
        self.assertEqual((process.returncode, out), (REFUSED, "sluicectl: replay: interrupted\n"))
        self.assertFalse(os.path.exists("/proc/" + child), "sluiced still runs")
        self.assertEqual(os.listdir(temporary), [])


unittest.main(argv=sys.argv[:1])
