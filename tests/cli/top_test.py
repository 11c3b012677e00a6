"""sluicectl top, of a switch with endless traffic: to a pipe, to a terminal, as JSON."""
import json
import os
import pty
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import lab  # noqa: E402


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Frames of zeros without end on "in" go to "out" and, by a flow that sends nothing, are dropped on "in2".
        ports = [{"name": "in", "number": 1, "null": {"rx_frame_bytes": 64}}, {"name": "out", "number": 2, "null": {}},
                 {"name": "in2", "number": 3, "null": {"rx_frame_bytes": 1000}}]
        cls.switch = lab.Switch(ports).__enter__()
        cls.switch.ctl("flow", "add", "in_port=1,actions=output:2", "priority=7,in_port=3,actions=drop", "in_port=99,actions=drop")

    @classmethod
    def tearDownClass(cls):
        cls.switch.__exit__(None)

    def top(self, *args):
        return self.switch.ctl("top", "--interval", "0.5", *args)

    def test_frames_to_a_pipe(self):
        text = self.top("--count", "2")
        self.assertNotIn("\x1b", text)
        self.assertEqual(text.count("sluice "), 2)
        frame = text.split("sluice ")[2]
        self.assertRegex(frame, r"\nreceived [\d.]+[kM], forwarded [\d.]+[kM]?, dropped [\d.]+[kM]? \(action_drop [\d.]+[kM]?\)\n")
        lines = [line.split() for line in frame.splitlines()]
        ports = {line[1]: line for line in lines if len(line) == 7 and line[0] in "123"}
        self.assertEqual(set(ports), {"in", "out", "in2"})
        self.assertNotEqual(ports["in"][2], "0")
        self.assertEqual(ports["in"][4:], ["0", "0", "-"])
        self.assertNotEqual(ports["out"][4], "0")
        # Busy all the time: a burst follows the other.
        worker = lines[lines.index(["WORKER", "CPU", "BUSY-%", "SLEEPS"]) + 1]
        self.assertGreater(float(worker[2]), 90)
        flows = lines[lines.index(["FLOW", "PPS", "BPS", "MATCH", "AND", "ACTIONS"]) + 1:]
        self.assertEqual({" ".join(line[3:]) for line in flows if line}, {"priority=32768,in_port=1 actions=output:2", "priority=7,in_port=3 actions=drop"})

    def test_json_agrees_with_itself(self):
        frames = [json.loads(line) for line in self.top("-o", "json", "--count", "2").splitlines()]
        self.assertEqual(len(frames), 2)
        for frame in frames:
            self.assertGreater(frame["seconds"], 0.4)
            received = {port["name"]: port["receive_packets"] for port in frame["ports"]}
            by_flow = {flow["flow"]: flow for flow in frame["flows"]}
            self.assertAlmostEqual(by_flow["priority=7,in_port=3 actions=drop"]["packets"] / received["in2"], 1, delta=0.5)
            self.assertAlmostEqual(frame["received"] / (received["in"] + received["in2"]), 1, delta=0.5)
            self.assertAlmostEqual(frame["drops"]["action_drop"] / received["in2"], 1, delta=0.5)
            self.assertAlmostEqual(by_flow["priority=32768,in_port=1 actions=output:2"]["bytes"], 64 * by_flow["priority=32768,in_port=1 actions=output:2"]["packets"], delta=1)

    def test_sorted_and_cut(self):
        flows = json.loads(self.top("-o", "json", "--count", "1", "--sort", "bytes", "--flows", "1"))["flows"]
        self.assertEqual([flow["flow"] for flow in flows], ["priority=7,in_port=3 actions=drop"])
        self.assertEqual(json.loads(self.top("-o", "json", "--count", "1", "--flows", "0"))["flows"], [])

    def test_a_terminal_is_written_over(self):
        master, slave = pty.openpty()
        subprocess.run([lab.SLUICECTL, "--address", "unix://" + self.switch.socket, "top", "--count", "2", "--interval", "0.3"], stdout=slave, check=True, timeout=60)
        os.close(slave)
        text = os.read(master, 65536).decode()
        self.assertEqual(text.count("\x1b[2J"), 1)
        self.assertEqual(len(re.findall(r"\x1b\[Hsluice ", text)), 2)

    def test_no_switch(self):
        done = subprocess.run([lab.SLUICECTL, "--address", "unix:///nowhere", "top"], stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 3)


unittest.main(verbosity=2)
