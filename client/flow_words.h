// The words of flow text: what each key and each action means, which of
// ovs-ofctl's this switch refuses by name, and the nearest known word to one
// that nobody knows. Names of fields come from fields.proto; only what flow text
// adds to them (shorthands, old spellings that depend on the protocol, keys that
// are no fields) stands here.
//
// Pure functions; any thread.

#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/field_table.h"

namespace sluice::client {

enum class KeyKind {
  kField,        // the field, whatever the protocol
  kShorthand,    // eth_type and, if not negative, ip_proto
  kNwSrc,        // ip_src, or arp_spa with ARP
  kNwDst,        // ip_dst, or arp_tpa with ARP
  kNwProto,      // nw_proto, or arp_op with ARP
  kTpSrc,        // a port of the protocol, or ICMP's type
  kTpDst,        // a port of the protocol, or ICMP's code
  kIcmpType,     // of ICMP or ICMPv6
  kIcmpCode,     // of ICMP or ICMPv6
  kNwTos,        // ip_dscp, shifted left by 2
  kDlVlan,       // VID; 0xffff: no tag
  kVlanVid,      // VID with the presence bit 0x1000
  kVlanPcp,      // PCP
  kVlanTci,      // all of the tag
  kVlanPresent,  // 0 or 1
  kActions,
  kPriority,
  kCookie,
  kTable,
  kIdleTimeout,
  kHardTimeout,
  kOutPort,
  kCheckOverlap,
  kResetCounts,
  kCommand,        // add, and what ovs-ofctl has beside it
  kStatistic,      // printed with a flow, not part of it: skipped
  kFlag,           // the same, without a value
  kNotThisSwitch,  // known to Open vSwitch, never to this switch
  kNotYet,         // known to Open vSwitch, not to this version
};

struct KeyWord {
  KeyKind kind{};
  const FieldInfo* field = nullptr;  // kField; of words that depend on the protocol: what set_field means by them
  int eth_type = 0;                  // kShorthand; 0: says nothing
  int ip_proto = -1;                 // kShorthand
};

// nullptr if nobody knows it. Case counts.
const KeyWord* FindKey(absl::string_view name);

enum class ActionKind {
  kOutput,    // output:PORT
  kInPort,    // in_port
  kAll,       // all
  kDrop,      // drop
  kSet,       // the field, exactly
  kSetTos,    // ip_dscp, shifted left by 2
  kSetTpSrc,  // the port of the match's protocol
  kSetTpDst,
  kSetVlan,   // the field, with a tag pushed if there is none
  kSetField,  // VALUE[/MASK]->FIELD
  kPushVlan,
  kPopVlan,
  kDecTtl,
  kDecMplsTtl,
  kPushMpls,
  kPopMpls,
  kFlood,
  kNormal,
  kController,
  kGroup,
  kMeter,
  kGotoTable,
  kSetMetadata,  // write_metadata
  kWriteActions,
  kApplyActions,  // what stands within might stand outside
  kClearActions,
  kLoad,  // VALUE->FIELD[FIRST..LAST]
  kMove,  // FIELD[FIRST..LAST]->FIELD[FIRST..LAST]
  kNotThisSwitch,
  kNotYet,
};

struct ActionWord {
  ActionKind kind{};
  const FieldInfo* field = nullptr;  // kSet, kSetVlan
};

// nullptr if nobody knows it. Case does not count.
const ActionWord* FindAction(absl::string_view name);

// Why a key of kind kNotThisSwitch or kNotYet is refused.
std::string RefusalOf(KeyKind kind, absl::string_view name);

// `; did you mean "x"?` with the word most like it, or nothing.
std::string SuggestKey(absl::string_view name);
std::string SuggestAction(absl::string_view name);

// The shorthand that says just this (ip_proto -1: no protocol), or nullptr.
const char* ShorthandFor(uint64_t eth_type, int ip_proto);

}  // namespace sluice::client
