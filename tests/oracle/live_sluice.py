"""Plays runs through sluiceds that stay, of which each takes a tenth of the time of a `sluicectl replay`.

What is done is what replay does: ports of capture files, of which one at a time receives; each run has ports of its own, and
nothing is left of the one before but what a switch remembers. Any thread may play; runs of one burst size go one after another.
"""
import contextlib
import json
import os
import sys
import threading
import time

import pcap
from players import PORTS, Refused, Result, WAYS, beside, digests_of

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "cases"), os.path.join(HERE, "..", "system")]
import api  # noqa: E402

why_not = api.why_not  # what the machine lacks for it
MTU, STUCK_SECONDS = 65535, 60


class LiveSluice:
    """Use it in a `with` block; `play` is that of players.Sluice."""

    def __init__(self, sluicectl):
        os.environ["SLUICE_BUILD"] = os.path.dirname(os.path.dirname(os.path.abspath(sluicectl)))
        self.stack, self.switches = contextlib.ExitStack(), {}
        self.starting = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def play(self, run, folder, way=WAYS[0]):
        with self.starting:
            if way.burst not in self.switches:
                self.switches[way.burst] = self.stack.enter_context(_Switch(way.burst))
        return self.switches[way.burst].play(run, folder, way)


class _Switch:
    def __init__(self, burst):
        import lab  # pylint: disable=import-outside-toplevel  # it reads SLUICE_BUILD
        workers = {"count": 1, "idle": "adaptive", "rx_burst": burst}
        self.switch = lab.Switch([], workers=workers, memory={"huge_pages": "never"})
        self.lock = threading.Lock()

    def __enter__(self):
        self.switch.__enter__()
        self.client = api.Api(self.switch)
        made = self.client.made
        self.pb2 = made.port_service_pb2
        self.info_pb2 = made.switch_service_pb2
        self.info = made.switch_service_pb2_grpc.SwitchServiceStub(self.client.channel)
        self.defaults = self.info.GetSettings(self.info_pb2.GetSettingsRequest()).settings
        return self

    def __exit__(self, *error):
        self.client.channel.close()
        self.switch.__exit__(*error)

    def play(self, run, folder, way):
        """Leaves what left the ports in FOLDER/sluice."""
        out = os.path.join(folder, "sluice")
        os.makedirs(out, exist_ok=True)
        capture = os.path.join(folder, "in.pcap")
        pcap.write(capture, [data for _, data in run.frames])
        with self.lock:
            self._settings(way)
            try:
                for kind in ("group", "meter"):
                    for lines in beside(run.flows, kind + "s")[1:]:
                        self.switch.ctl(kind, "add-file", lines)
                self.switch.ctl("flow", "add-file", run.flows)
                self._add_ports(run, capture, out)
                for port in run.inputs:
                    self._receive(port, len(run.frames))
                flows = json.loads(self.switch.ctl("-o", "json", "flow", "list"))["flows"]
            except RuntimeError as e:
                raise Refused("Sluice: %s" % e) from e
            finally:
                self._clear()
        counters = {}
        for flow in flows:
            stats = flow.get("stats", {})
            counters["%#x" % int(flow["spec"].get("cookie", 0))] = [int(stats.get("packets", 0)), int(stats.get("bytes", 0))]
        return Result(counters, digests_of(out))

    def _settings(self, way):
        known = dict(setting.split("=") for setting in way.settings)
        entries = int(known.pop("flow_cache_entries", self.defaults.flow_cache_entries))
        if known:
            raise Refused("LiveSluice knows no setting %s" % ", ".join(known))
        self.info.UpdateSettings(self.info_pb2.UpdateSettingsRequest(flow_cache_entries=entries))

    def _add_ports(self, run, capture, out):
        for number in range(1, PORTS + 1):
            device = self.pb2.PcapDevice(tx_file=os.path.join(out, "port-%d.pcap" % number), rx_file=capture if number in run.inputs else "")
            spec = self.pb2.PortSpec(name="p%d" % number, number=number, mtu=MTU, no_receive=True, pcap=device)
            self.client.ports.CreatePort(self.pb2.CreatePortRequest(port=spec))

    def _totals(self):
        totals = self.info.GetSwitch(self.info_pb2.GetSwitchRequest()).totals
        return totals.received, totals.forwarded + sum(totals.drops.values())

    def _receive(self, port, frames):
        """Until each frame is received and accounted for."""
        wanted = self._totals()[0] + frames
        update = lambda on: self.client.ports.UpdatePort(self.pb2.UpdatePortRequest(key=self.pb2.PortKey(number=port), receive=on))
        update(True)
        end = time.monotonic() + STUCK_SECONDS
        while self._totals() != (wanted, wanted):
            if time.monotonic() > end:
                raise Refused("Sluice: of %d frames (received, accounted for) are %s" % (wanted, self._totals()))
            time.sleep(0.002)
        update(False)

    def _clear(self):
        for port in self.client.ports.ListPorts(self.pb2.ListPortsRequest()).ports:
            self.client.ports.DeletePort(self.pb2.DeletePortRequest(key=self.pb2.PortKey(number=port.spec.number)))
        self.client.flows.DeleteMatchingFlows(self.client.service_pb2.DeleteMatchingFlowsRequest())
        for kind in ("group", "meter"):
            self.switch.ctl(kind, "delete")
