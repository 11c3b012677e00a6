"""A packet goes back to the port that it came from only where a flow says so: by in_port, not by the port's number, nor by all and flood."""
import cases
from cases import make

ASK = make.eth(0x0806, make.arp(1, "192.0.2.1", "192.0.2.2"), dst=make.BROADCAST)
BACK = {"output_to_ingress": 1}


class IngressPort(cases.unittest.TestCase):
    def check(self, actions, ports, drops=None):
        out = cases.replay(["priority=100,in_port=1,actions=" + actions], (1, [ASK]), ports=4)
        self.assertEqual({n: frames for n, frames in out.sent.items() if frames}, {n: [ASK] * count for n, count in ports.items()}, actions)
        self.assertEqual((out.drops, out.packets), (drops or {}, [1]), actions)

    def test_its_number(self):
        self.check("output:1", {}, BACK)
        self.check("output:1,output:1", {}, BACK)
        self.check("output:1,output:2", {2: 1})

    def test_in_port(self):
        self.check("in_port", {1: 1})
        self.check("output:in_port", {1: 1})
        self.check("in_port,output:2,in_port", {1: 2, 2: 1})

    def test_all(self):
        self.check("all", {2: 1, 3: 1, 4: 1})
        self.check("all,in_port", {1: 1, 2: 1, 3: 1, 4: 1})

    def test_flood(self):
        self.check("flood", {2: 1, 3: 1, 4: 1})
        self.check("flood,output:1", {2: 1, 3: 1, 4: 1})

    def test_the_only_port(self):
        """With no other port there is nobody to flood to."""
        for actions in "all", "flood":
            out = cases.replay(["actions=" + actions], (1, [ASK]), ports=1)
            self.assertEqual((out.sent, sum(out.drops.values())), ({1: []}, 1), actions)


cases.main()
