"""Random tables of flows, groups and meters that fit random packets.

A match is made of fields of one of the packets, under random masks; actions are those that OpenFlow allows after such a match.
Priorities are unique in their table, since which of equals wins is the switch's own business.

What Open vSwitch is known to do otherwise than OpenFlow says, or than Sluice means to, is kept out by RULES, each with its
reason: a rule that is switched off lets it in, and then the difference shows.
"""
import ipaddress

import random_packets as packets

# name: why
RULES = {
    "zero-ports": "Open vSwitch reads the ports, flags and types of a later fragment as zeros, so masked zeros match it.",
    "fragments-rewritten": "Rewriting an address, Open vSwitch changes the payload of later fragments where a checksum would stand.",
    "atomic-fragments": "Open vSwitch does not renew the checksum behind a fragment header that says that the packet is whole.",
    "pushed-onto-tags": "A tag that is pushed onto another has zeros in Open vSwitch, and copies the one below in OpenFlow; and "
                        "Open vSwitch keeps two tags at most.",
    "recirculated-bytes": "Behind a popped label or a group that selects Open vSwitch counts the bytes of the frame as it is then, Sluice those of the frame "
                          "as received.",
    "labels-in-part": "Where one field of a label is written, Open vSwitch writes the others too, as the first packet of a megaflow had them, "
                      "though the megaflow does not match on them.",
    "ttl-below-label": "dec_ttl in an action set ends the way of a packet whose IP header is below a pushed label; Open vSwitch sends it.",
    "ttl-without-header": "dec_ttl ends the way of a packet without an IP header; Open vSwitch does nothing then. A flow must match ip to have it, "
                          "but its group need not.",
    "set-after-pop": "An action set pops a tag before it sets fields. Open vSwitch then makes a new tag for a VLAN id or a priority, "
                     "though ovs-actions(7) says that a set_field on what is not there does nothing.",
    "absent-options": "Open vSwitch remembers a written link-layer address option that the packet does not have.",
}

MPLS_TYPES = {0x8847: "mpls", 0x8848: "mplsm"}
GROUP_ID, TABLES = 10, [0, 1, 2, 7]


def mac(value):
    return ":".join("%02x" % b for b in value.to_bytes(6, "big"))


def text_of(name, value):
    if name.startswith("dl_") or name in ("arp_sha", "arp_tha", "nd_sll", "nd_tll"):
        return mac(value)
    if name.startswith("ipv6_") and name != "ipv6_label" or name == "nd_target":
        return str(ipaddress.IPv6Address(value))
    if name.startswith("nw_") and name in ("nw_src", "nw_dst") or name in ("arp_spa", "arp_tpa"):
        return str(ipaddress.IPv4Address(value))
    return "%#x" % value


BITS = {"dl_src": 48, "dl_dst": 48, "nw_src": 32, "nw_dst": 32, "arp_spa": 32, "arp_tpa": 32, "arp_sha": 48, "arp_tha": 48, "ipv6_src": 128, "ipv6_dst": 128,
        "nd_target": 128, "nd_sll": 48, "nd_tll": 48, "ipv6_label": 20, "tp_src": 16, "tp_dst": 16, "tcp_flags": 12}


class Flow:
    def __init__(self, table, priority):
        self.table, self.priority, self.match, self.actions = table, priority, [], []

    def text(self, cookie):
        return "cookie=%#x,table=%d,priority=%d,%sactions=%s" % (cookie, self.table, self.priority, "".join(m + "," for m in self.match), ",".join(self.actions) or "drop")


class State:
    """What is known of the packets that a flow's actions meet."""

    def __init__(self, kind=None, proto=None, whole=False, tags=None):
        self.kind, self.proto, self.whole = kind, proto, whole  # whole: no later fragment
        self.tags = tags  # 0: none; 1: one or more; None: not known
        self.bottom, self.inner = None, None  # of an MPLS stack: whether the outer entry is the last, and what is below
        self.options, self.icmp_type = [], None  # neighbour discovery options that are there
        self.may_push_mpls = True
        self.exact = False  # the match says all of the outer label stack entry


class Pair:
    """Frames, and the tables that they are to go through."""

    def __init__(self, frames, flows, groups, meters):
        self.frames, self.flows, self.groups, self.meters = frames, flows, groups, meters

    def write(self, path):
        """PATH.flows, and .groups and .meters where there are any."""
        with open(path + ".flows", "w") as f:
            f.write("".join(flow.text(i) + "\n" for i, flow in enumerate(self.flows, 1)))
        for kind, lines in (("groups", self.groups), ("meters", self.meters)):
            if lines:
                with open("%s.%s" % (path, kind), "w") as f:
                    f.write("".join(line + "\n" for line in lines))
        return path + ".flows"

    def recirculates(self):
        """Whether Open vSwitch may look at a packet anew on its way, after its length changed."""
        actions = [action for flow in self.flows for action in flow.actions]
        selects = any("type=select" in group for group in self.groups)
        return any("pop_mpls" in a for a in actions) or (selects and any("push_" in a or "pop_vlan" in a for a in actions))


# What a switch may not have yet.
FEATURES = ("groups", "meters", "controllers")


class Generator:
    """without: names of RULES; less: of FEATURES that flows are not to use."""

    def __init__(self, rng, without=(), less=()):
        self.rng, self.without, self.less = rng, without, less
        self.groups, self.meters = [], []  # lines; group ids count up from GROUP_ID
        self.group_needs = {}  # id: "" or what the flow must match for the group's changes: ip or ipv6

    def on(self, rule):
        return rule not in self.without

    def chance(self, of):
        return self.rng.random() < of

    def pair(self, packet_count=40, flow_count=24):
        self.packets = [packets.packet(self.rng, atomic=not self.on("atomic-fragments")) for _ in range(packet_count)]
        if self.chance(0.3) and "meters" not in self.less:
            self.meters = ["meter=1,pktps,burst,band=type=drop,rate=1000000,burst_size=1000000"]
        for _ in range(0 if "groups" in self.less else self.rng.choice([0, 1, 3])):
            self._group()
        self.pops_in_sets, self.pushes_labels = self.chance(0.5), not self.on("ttl-below-label") or self.chance(0.5)
        self.tables = TABLES[: self.rng.choice([1, 2, 3, 4])]
        priorities = self.rng.sample(range(1, 1000), flow_count)
        flows = [self._flow(self.tables[0] if i < flow_count // 2 else self.rng.choice(self.tables), p) for i, p in enumerate(priorities)]
        return Pair([("packet-%d" % i, frame) for i, (frame, _) in enumerate(self.packets)], flows, self.groups, self.meters)

    # Matches.

    def _mask(self, name):
        mask = self._any_mask(name)
        if BITS[name] == 128 and text_of(name, mask)[0].isdigit():  # ovs-ofctl takes it for a prefix length
            mask |= 0xF << 124
        return mask

    def _any_mask(self, name):
        """Most of them of the kinds that people write."""
        bits, kind = BITS[name], self.rng.random()
        every = (1 << bits) - 1
        if kind < 0.6:
            return every
        if kind < 0.85:
            return every & ~((1 << self.rng.randrange(bits)) - 1)
        return self.rng.getrandbits(bits) or every

    def _masked(self, flow, name, fields):
        """True if any bit of the field's value under the mask is set."""
        mask = self._mask(name)
        value = fields[name] & mask
        if name in ("nw_src", "nw_dst", "arp_spa", "arp_tpa", "ipv6_src", "ipv6_dst", "nd_target") or mask != (1 << BITS[name]) - 1:
            flow.match.append("%s=%s/%s" % (name, text_of(name, value), text_of(name, mask)))
        else:
            flow.match.append("%s=%s" % (name, text_of(name, value)))
        return value != 0

    def _match(self, flow):
        _, fields = self.rng.choice(self.packets)
        if "below" in fields and flow.table and self.chance(0.5):
            fields = {**fields["below"], **{k: fields[k] for k in ("dl_src", "dl_dst", "tags")}}
        state = State()
        if self.chance(0.25):
            flow.match.append("in_port=%d" % self.rng.choice([1, 2]))
        for name in ("dl_src", "dl_dst"):
            if self.chance(0.2):
                self._masked(flow, name, fields)
        self._match_tag(flow, fields, state)
        if self.chance(0.85):
            self._match_kind(flow, fields, state)
        if flow.table and self.chance(0.3):
            flow.match.append(self.rng.choice(["reg0=0x5", "reg1=0x0/0xff", "reg0=0x0/0xf0", "metadata=0x3/0x3", "metadata=0x0", "reg2=0x80000000/0x80000000"]))
        return state

    def _match_tag(self, flow, fields, state):
        if not self.chance(0.5):
            return
        if not fields["tags"]:
            flow.match.append("vlan_tci=0x0000/0x1fff")
            state.tags = 0
            return
        vid, pcp = fields["tags"][0 if not flow.table else self.rng.randrange(len(fields["tags"]))]
        state.tags = 1
        mask = self.rng.choice([0x1FFF, 0x1001, 0xF000, 0x1FF0, 0xFFFF])
        flow.match.append(self.rng.choice(["dl_vlan=%d" % vid, "vlan_vid=0x1000/0x1000", "dl_vlan_pcp=%d" % pcp, "dl_vlan=%d,dl_vlan_pcp=%d" % (vid, pcp),
                                           "vlan_tci=%#x/%#x" % ((pcp << 13 | 0x1000 | vid) & mask, mask)]))

    def _match_kind(self, flow, fields, state):
        state.kind = kind = fields["kind"]
        if kind == "other":
            flow.match.append("dl_type=%#x" % fields.get("dl_type", 0x88B5))
        elif kind == "arp":
            flow.match.append("arp")
            self._some(flow, fields, ("arp_spa", "arp_tpa", "arp_sha", "arp_tha"), 0.25)
            if self.chance(0.5):
                flow.match.append("arp_op=%d" % fields["arp_op"])
        elif kind == "mpls":
            self._match_mpls(flow, fields, state)
        else:
            self._match_ip(flow, fields, state, kind)

    def _some(self, flow, fields, names, chance):
        return [name for name in names if name in fields and self.chance(chance) and self._masked(flow, name, fields)]

    def _match_mpls(self, flow, fields, state):
        flow.match.append(MPLS_TYPES[fields["dl_type"]])
        every = self.chance(0.4)
        state.exact = every or not self.on("labels-in-part")
        if every or self.chance(0.6):
            flow.match += ["mpls_label=%d" % fields["mpls_label"], "mpls_bos=%d" % fields["mpls_bos"]]
            state.bottom, state.inner = fields["mpls_bos"], 0x0800 if fields["mpls_label"] % 2 == 0 else 0x86DD
        if every or self.chance(0.3):
            flow.match.append("mpls_tc=%d" % fields["mpls_tc"])
        if every or self.chance(0.3):
            flow.match.append("mpls_ttl=%d" % fields["mpls_ttl"])

    def _match_ip(self, flow, fields, state, kind):
        addresses = ("nw_src", "nw_dst") if kind == "ip" else ("ipv6_src", "ipv6_dst", "ipv6_label")
        flow.match.append(kind)
        self._some(flow, fields, addresses, 0.35)
        for name, chance in (("nw_ttl", 0.15), ("ip_dscp", 0.1), ("nw_ecn", 0.1)):
            if self.chance(chance):
                flow.match.append("%s=%d" % (name, fields[name]))
        frag = None
        if self.chance(0.4):
            frag = fields["frag"]
            frag = self.rng.choice([frag, frag, "yes" if frag != "no" else "not_later", "later" if frag == "later" else "not_later"])
        if self.chance(0.7):
            state.proto = fields["nw_proto"]
            flow.match.append("nw_proto=%d" % state.proto)
            frag = self._match_transport(flow, fields, state, frag)
        if frag:
            flow.match.append("nw_frag=" + frag)
        state.whole = frag in ("no", "first", "not_later")

    def _match_transport(self, flow, fields, state, frag):
        """The fragments to match, which may have to be fewer than wanted."""
        zero, named = False, False
        if frag in ("later", "yes") or fields["frag"] == "later":
            return frag
        for name in ("tp_src", "tp_dst", "tcp_flags"):
            if name in fields and self.chance(0.4):
                named, zero = True, not self._masked(flow, name, fields) or zero
        if "icmp_type" in fields and self.chance(0.6):
            flow.match.append("icmp_type=%d" % fields["icmp_type"])
            named, zero, state.icmp_type = True, zero or not fields["icmp_type"], fields["icmp_type"]
            if self.chance(0.4) or "nd_target" in fields:
                flow.match.append("icmp_code=%d" % fields["icmp_code"])
                zero = zero or not fields["icmp_code"]
                state.options = [n for n in self._some(flow, fields, ("nd_target", "nd_sll", "nd_tll"), 0.5) if n != "nd_target"]
        if named and zero and self.on("zero-ports"):
            return frag if frag in ("no", "not_later", "first") else self.rng.choice(["no", "not_later"])
        return frag

    # Actions.

    def _flow(self, table, priority):
        flow = Flow(table, priority)
        state = self._match(flow)
        after = [t for t in self.tables if t > table]
        going = after and self.chance(0.5)
        if self.meters and self.chance(0.3):
            flow.actions.append("meter:1")
        pushed = False
        for _ in range(self.rng.choice([0, 1, 1, 2, 3, 5])):
            for action in self._action(state):
                pushed = pushed or "push" in action or "pop" in action
                flow.actions.append(action)
        if self.chance(0.1):
            flow.actions.append("clear_actions")
        if self.chance(0.3):
            written = self._action_set(state, not going and not pushed)
            if written:
                flow.actions.append("write_actions(%s)" % ",".join(written))
        if going:
            if self.chance(0.3):
                flow.actions.append("write_metadata:" + self.rng.choice(["0x3", "0x1/0x1", "0xff00000000000003/0xff0000000000000f"]))
            flow.actions.append("goto_table:%d" % self.rng.choice(after))
        elif self.chance(0.5):
            flow.actions += self._output(state)
        flow.actions = self._ordered(flow.actions)
        return flow

    @staticmethod
    def _ordered(actions):
        """As instructions are to be ordered: meter, what is applied, clear_actions, write_actions, write_metadata, goto_table."""
        late = ("clear_actions", "write_actions", "write_metadata", "goto_table")
        rank = {word: i + 1 for i, word in enumerate(late)}
        return sorted(actions, key=lambda a: -1 if a.startswith("meter") else rank.get(a.split("(")[0].split(":")[0], 0))

    def _output(self, state):
        kind = self.rng.random()
        usable = [g for g, needs in self.group_needs.items() if not needs or (needs == state.kind and (state.whole or not self.on("fragments-rewritten")))]
        if usable and kind < 0.3:
            return ["group:%d" % self.rng.choice(usable)]
        controller = [] if "controllers" in self.less else ["CONTROLLER:64"]
        return [self.rng.choice(["output:%d" % n for n in (1, 2, 3, 4, 3, 4)] + ["in_port", "ALL", "FLOOD", "output:77"] + controller)]

    def _action_set(self, state, may_push):
        known = State(state.kind, state.proto, state.whole, state.tags if may_push or state.tags else None)
        known.may_push_mpls, known.exact = False, state.exact
        found = [action for _ in range(self.rng.choice([0, 1, 2, 3])) for action in self._change(known)]
        found = [a for a in found if not a.startswith(("load", "move"))]
        if self.on("ttl-below-label") and self.pushes_labels:
            found = [a for a in found if a != "dec_ttl"]
        pushes = any(a.startswith("push_vlan") for a in found)
        if self.on("set-after-pop") and not pushes:
            found = [a for a in found if (a != "pop_vlan" if not self.pops_in_sets else "->vlan_" not in a)]
        return found + [o for o in (self._output(state) if self.chance(0.8) else []) if not o.startswith("CONTROLLER")]

    def _action(self, state):
        return self._output(state) if self.chance(0.45) else self._change(state)

    def _change(self, state):
        """One change and what belongs to it; notes what is known afterwards."""
        options = [self._set_mac, self._load]
        options += [self._change_tags] * 2
        if state.kind in ("ip", "ipv6"):
            options += [self._change_ip] * 3 + [self._push_mpls] * (state.may_push_mpls and self.pushes_labels)
            if state.proto in (6, 17, 132) and state.whole:
                options += [self._change_ports] * 2
        options += {"arp": [self._change_arp] * 3, "mpls": [self._change_mpls] * 4}.get(state.kind, [])
        if state.options or (state.icmp_type in (135, 136) and not self.on("absent-options")):
            options.append(self._change_neighbour)
        return self.rng.choice(options)(state)

    def _set_mac(self, _):
        name, value = self.rng.choice(["eth_src", "eth_dst"]), self.rng.choice(packets.MACS)
        if self.chance(0.7):
            return ["set_field:%s->%s" % (mac(packets.number(value)), name)]
        mask = self.rng.getrandbits(48)
        return ["set_field:%s/%s->%s" % (mac(packets.number(value) & mask), mac(mask), name)] if mask else []

    def _load(self, _):
        return [self.rng.choice(["load:0x5->NXM_NX_REG0[]", "load:0xf->NXM_NX_REG0[4..7]", "load:0x1->NXM_NX_REG2[31]", "move:NXM_OF_IN_PORT[]->NXM_NX_REG1[0..15]",
                                 "move:NXM_OF_ETH_SRC[0..7]->NXM_NX_REG1[0..7]", "load:0x3->OXM_OF_METADATA[0..1]", "move:NXM_OF_ETH_DST[0..15]->NXM_OF_ETH_SRC[16..31]"])]

    def _change_tags(self, state):
        if state.tags and self.chance(0.5):
            return [self.rng.choice(["set_field:%d->vlan_vid" % (0x1000 | self.rng.choice(packets.VIDS)), "set_field:%d->vlan_pcp" % self.rng.randrange(8)])]
        if state.tags:
            state.tags = None
            return ["pop_vlan"]
        if state.tags == 0 or not self.on("pushed-onto-tags"):
            state.tags = 1
            return ["push_vlan:" + self.rng.choice(["0x8100", "0x88a8"]), "set_field:%d->vlan_vid" % (0x1000 | self.rng.choice(packets.VIDS))]
        return []

    def _change_ip(self, state):
        four = state.kind == "ip"
        options = ["dec_ttl", "set_field:%d->nw_ttl" % self.rng.choice([1, 2, 64, 255]), "set_field:%d->ip_dscp" % self.rng.choice([0, 10, 46, 63]), "set_field:%d->nw_ecn" % self.rng.randrange(4)]
        if not four:
            options.append("set_field:%#x->ipv6_label" % self.rng.getrandbits(20))
        if state.whole or not self.on("fragments-rewritten"):
            value = self.rng.choice(packets.IPV4 if four else packets.IPV6)
            options += ["set_field:%s->%s" % (value, name) for name in (("ip_src", "ip_dst") if four else ("ipv6_src", "ipv6_dst"))] * 2
            if four:
                options += ["load:%d->NXM_OF_IP_DST[0..7]" % self.rng.randrange(256), "move:NXM_OF_IP_SRC[0..7]->NXM_OF_IP_DST[8..15]"]
        return [self.rng.choice(options)]

    def _change_ports(self, state):
        name = {6: "tcp", 17: "udp", 132: "sctp"}[state.proto]
        return ["set_field:%d->%s_%s" % (self.rng.choice(packets.PORTS), name, self.rng.choice(["src", "dst"]))]

    def _change_arp(self, _):
        return [self.rng.choice(["set_field:%d->arp_op" % self.rng.choice([1, 2]), "set_field:%s->arp_%s" % (self.rng.choice(packets.IPV4), self.rng.choice(["spa", "tpa"])),
                                 "set_field:%s->arp_%s" % (mac(packets.number(self.rng.choice(packets.MACS))), self.rng.choice(["sha", "tha"])), "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]"])]

    def _change_neighbour(self, state):
        names = state.options or [{135: "nd_sll", 136: "nd_tll"}[state.icmp_type]]
        if self.chance(0.4):
            return ["set_field:%s->nd_target" % self.rng.choice(packets.IPV6)]
        return ["set_field:%s->%s" % (mac(packets.number(self.rng.choice(packets.MACS))), self.rng.choice(names))]

    def _push_mpls(self, state):
        label = 0x9000 + (0 if state.kind == "ip" else 1)
        state.kind, state.proto, state.whole, state.bottom, state.inner, state.options = "mpls", None, False, None, None, []
        return ["push_mpls:0x8847", "set_field:%d->mpls_label" % label]

    def _change_mpls(self, state):
        options = []
        if state.exact:
            options += [["dec_mpls_ttl"], ["set_field:%d->mpls_tc" % self.rng.randrange(8)], ["set_field:%d->mpls_ttl" % self.rng.choice([1, 2, 64])]]
        if state.bottom == 1:
            options.append(["push_mpls:0x8847", "set_field:%d->mpls_label" % self.rng.choice([0x9002, 0x9003])])
        if state.bottom is not None:
            options += [["pop_mpls:%#x" % (state.inner if state.bottom else 0x8847)]] * 2
        if not options:
            return []
        chosen = self.rng.choice(options)
        if chosen[0].startswith("pop"):
            state.kind = {0x0800: "ip", 0x86DD: "ipv6"}[state.inner] if state.bottom else "mpls"
        if chosen[0].startswith(("pop", "push")):
            state.bottom, state.inner = None, None
            state.exact = state.exact and chosen[0].startswith("push")
        return chosen

    # Groups.

    def _bucket(self, needs):
        actions = []
        for _ in range(self.rng.choice([0, 1, 2])):
            options = [self._set_mac(None)]
            if needs or not self.on("ttl-without-header"):
                options.append(["dec_ttl"])
            if needs:
                options.append(["set_field:%s" % ("203.0.113.9->ip_dst" if needs == "ip" else "2001:db8:9::9->ipv6_dst")])
            actions += self.rng.choice(options)
        others = [g for g, other in self.group_needs.items() if not other]
        if others and self.chance(0.2):
            return actions + ["group:%d" % self.rng.choice(others)]
        return actions + [self.rng.choice(["output:2", "output:3", "output:4", "output:in_port", "output:1", "output:77", "ALL"])]

    def _group(self):
        number, needs = GROUP_ID + len(self.groups), self.rng.choice(["", "", "ip", "ipv6"])
        kind = self.rng.choice(["all", "all", "indirect", "select", "ff"])
        buckets = [",".join(self._bucket(needs)) for _ in range(1 if kind in ("indirect", "select") else self.rng.choice([1, 2, 3]))]
        watch = {"ff": lambda: "watch_port:%d,actions=" % self.rng.choice([2, 3, 4, 77])}.get(kind, lambda: "actions=")
        self.groups.append("group_id=%d,type=%s%s" % (number, kind, "".join(",bucket=%s%s" % (watch(), b) for b in buckets)))
        self.group_needs[number] = needs
