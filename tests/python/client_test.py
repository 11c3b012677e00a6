#!/usr/bin/python3
"""The API as a controller in Python uses it, against a real switch: the program in docs/python.md, which must print what it
says it prints, and what that program does not look at: exact counters, all-or-nothing batches, paging, the end of a watch.
"""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import lab  # noqa: E402

GUIDE = os.path.join(ROOT, "docs", "python.md")
HEALTH = "/usr/share/grpc-proto/grpc/health/v1/health.proto"
PLUGIN = "/usr/bin/grpc_python_plugin"


def why_not():
    for what in (HEALTH, PLUGIN, shutil.which("protoc") or "protoc"):
        if not os.path.exists(what):
            return "no " + what
    try:
        import google.protobuf  # noqa: F401
        import grpc  # noqa: F401
    except ImportError as e:
        return str(e)
    return None


def blocks(language):
    with open(GUIDE) as f:
        return re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.M | re.S)


def make_stubs(folder):
    """As the guide says: its second shell block, run where `proto` is."""
    os.symlink(os.path.join(ROOT, "proto"), os.path.join(folder, "proto"))
    subprocess.run(["sh", "-e", "-c", blocks("sh")[1]], cwd=folder, check=True, timeout=60)
    return os.path.join(folder, "stubs")


def pcap(path, count, size=60):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(count):
            f.write(struct.pack("<IIII", 0, 0, size, size) + bytes(5) + bytes([i % 2 + 1]) + b"\2\0\0\0\0\1\x88\xb5" + bytes(size - 14))


class Client(unittest.TestCase):
    def setUp(self):
        self.switch = lab.Switch(self.ports()).__enter__()
        self.addCleanup(self.switch.__exit__, None)
        self.address = "unix://" + self.switch.socket

    def ports(self):
        capture = os.path.join(stubs, "..", "in.pcap")
        pcap(capture, 100)
        return [{"name": "in", "number": 1, "receive": False, "pcap": {"rx_file": capture}}, {"name": "out", "number": 2, "null": {}}]


class Guide(Client):
    def test_prints_what_it_says(self):
        program = os.path.join(stubs, "..", "guide.py")
        with open(program, "w") as f:
            f.write("\n".join(blocks("python")))
        environment = {**os.environ, "PYTHONPATH": stubs, "SLUICE_ADDRESS": self.address}
        running = subprocess.Popen(["/usr/bin/python3", program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        watchdog = threading.Timer(60, running.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        printed = []
        for line in running.stdout:
            printed.append(line)
            if line == "health: SERVING\n":
                self.switch.process.send_signal(signal.SIGTERM)
        self.assertEqual("".join(printed), blocks("text")[0])
        self.assertEqual(running.wait(10), 0)
        self.assertEqual(self.switch.process.wait(10), 0)


class Scenario(Client):
    def setUp(self):
        super().setUp()
        self.channel = grpc.insecure_channel(self.address)
        self.addCleanup(self.channel.close)
        self.flows = flow_service_pb2_grpc.FlowServiceStub(self.channel)
        self.port_service = port_service_pb2_grpc.PortServiceStub(self.channel)

    def spec(self, priority, destination, port=2):
        return flow_pb2.FlowSpec(priority=priority, match=flow_pb2.Match(fields=[flow_pb2.FieldMatch(field=fields_pb2.FIELD_ETH_DST, value=destination)]),
                                 actions=[flow_pb2.Action(output=flow_pb2.OutputAction(port=port))])

    def create(self, spec, **kw):
        return flow_service_pb2.CreateFlowRequest(flow=spec, **kw)

    def write(self, mode, *items):
        return self.flows.BatchWrite(flow_service_pb2.BatchWriteRequest(mode=mode, items=items))

    def error_of(self, call, *args):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*args)
        metadata = {key: value for key, value in caught.exception.trailing_metadata()}
        return caught.exception.code(), status_pb2.Status.FromString(metadata.get("grpc-status-details-bin", b""))

    def listed(self, page_size, **conditions):
        pages, token = [], ""
        while not pages or token:
            page = self.flows.ListFlows(flow_service_pb2.ListFlowsRequest(
                filter=flow_service_pb2.FlowFilter(**conditions), page_size=page_size, page_token=token))
            pages.append([flow.spec.priority for flow in page.flows])
            token = page.next_page_token
        return pages

    def test_pages_and_filters(self):
        for i in range(7):
            self.flows.CreateFlow(self.create(self.spec(i, i, port=i % 2 + 1)))
        self.assertEqual(self.listed(3), [[0, 1, 2], [3, 4, 5], [6]])
        self.assertEqual(self.listed(2, out_port=2), [[1, 3], [5]])
        self.assertEqual(self.listed(0, priority=4), [[4]])
        self.assertEqual(self.listed(0, match=self.spec(0, 5).match), [[5]])

    def test_final_counters(self):
        """Of 100 frames every other one hits each of two flows; what a delete returns is all of it."""
        ids = [self.flows.CreateFlow(self.create(self.spec(1, destination))).flow.id for destination in (1, 2)]
        key = port_service_pb2.PortKey(name="in")
        self.port_service.UpdatePort(port_service_pb2.UpdatePortRequest(key=key, receive=True))
        lab.wait_for("100 frames arrive", lambda: self.port_service.GetPort(port_service_pb2.GetPortRequest(key=key)).port.stats.receive_packets == 100)
        for flow_id in ids:
            deleted = self.flows.DeleteFlow(flow_service_pb2.DeleteFlowRequest(key=flow_service_pb2.FlowKey(id=flow_id))).flow
            self.assertEqual((deleted.id, deleted.stats.packets, deleted.stats.bytes), (flow_id, 50, 3000))
        code, _ = self.error_of(self.flows.GetFlow, flow_service_pb2.GetFlowRequest(key=flow_service_pb2.FlowKey(id=ids[0])))
        self.assertEqual(code, grpc.StatusCode.NOT_FOUND)

    def test_batches(self):
        item = flow_service_pb2.BatchItem
        good, bad = item(create=self.create(self.spec(1, 1))), item(create=self.create(self.spec(2, 1 << 48)))
        missing = item(delete=flow_service_pb2.DeleteFlowRequest(key=flow_service_pb2.FlowKey(id=999)))
        # All or nothing: the first item's error, and every failed item by its index.
        code, status = self.error_of(self.write, flow_service_pb2.BATCH_MODE_ALL_OR_NOTHING, good, bad, missing)
        self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT)
        reply = flow_service_pb2.BatchWriteResponse()
        self.assertTrue(any(detail.Unpack(reply) for detail in status.details))
        self.assertEqual([(r.index, r.error.code) for r in reply.results], [(1, 3), (2, 5)])
        self.assertEqual(self.violated(reply.results[0].error), ["items[1].create.flow.match.fields[0].value"])
        self.assertEqual(self.listed(0), [[]])
        # Each by itself.
        reply = self.write(flow_service_pb2.BATCH_MODE_PER_ITEM, good, bad, missing)
        self.assertEqual(reply.failed_count, 2)
        self.assertEqual([r.error.code for r in reply.results], [0, 3, 5])
        self.assertGreater(reply.results[0].flow_id, 0)
        self.assertEqual(self.listed(0), [[1]])

    def violated(self, status):
        bad = error_details_pb2.BadRequest()
        self.assertTrue(any(detail.Unpack(bad) for detail in status.details))
        for violation in bad.field_violations:
            self.assertTrue(violation.description)
        return [violation.field for violation in bad.field_violations]

    def test_watch(self):
        """Each service's health, from SERVING to NOT_SERVING, and then the end of the stream."""
        names = ["", "sluice.v1.FlowService", "sluice.v1.PortService", "sluice.v1.TableService", "sluice.v1.SwitchService", "sluice.v1.TraceService",
                 "sluice.v1.GroupService", "sluice.v1.MeterService", "sluice.v1.MacService", "sluice.v1.PacketService", "sluice.v1.CaptureService"]
        stub = health_pb2_grpc.HealthStub(self.channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=60) for name in names]
        serving, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
        self.assertEqual([next(watch).status for watch in watches], [serving] * len(names))
        self.switch.process.send_signal(signal.SIGTERM)
        self.assertEqual([next(watch).status for watch in watches], [not_serving] * len(names))
        for watch in watches:
            with self.assertRaises(grpc.RpcError):
                next(watch)
        self.assertEqual(self.switch.process.wait(10), 0)


reason = why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
with tempfile.TemporaryDirectory(prefix="sluice-python-") as folder:
    stubs = make_stubs(folder)
    sys.path.insert(0, stubs)
    import grpc
    import health_pb2
    import health_pb2_grpc
    from google.rpc import error_details_pb2, status_pb2
    from sluice.v1 import fields_pb2, flow_pb2, flow_service_pb2, flow_service_pb2_grpc, port_service_pb2, port_service_pb2_grpc
    done = unittest.main(exit=False, verbosity=2)
sys.exit(not done.result.wasSuccessful())
