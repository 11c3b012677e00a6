// Random flows in canonical form, made from the fields' descriptions: whatever
// fields.proto names, with prerequisites, masks and actions that a switch takes.
//
// The same seed gives the same flows. One thread.

#pragma once

#include <random>

#include "sluice/v1/flow.pb.h"

namespace sluice::client {

struct RandomFlowOptions {
  // Leaves out what ovs-ofctl cannot say or does not read: vlan_tci beyond
  // presence, VID and PCP; ARP operations above 255; tags pushed only onto
  // untagged packets or onto tagged ones; IPv6 masks that are no prefixes; ranges;
  // second tags.
  bool for_ovs = false;
};

class RandomFlow {
 public:
  explicit RandomFlow(uint32_t seed, RandomFlowOptions options = {}) : random_(seed), options_(options) {}

  v1::FlowSpec Next();

 private:
  struct Context;
  uint64_t Below(uint64_t bound) { return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_); }
  bool Chance(unsigned percent) { return Below(100) < percent; }

  void AddMatch(Context& context, v1::FlowSpec& spec);
  void AddVlan(v1::Field first, Context& context, v1::FlowSpec& spec);
  void AddActions(Context& context, v1::FlowSpec& spec);
  void AddSetField(const Context& context, v1::FlowSpec& spec);

  std::mt19937_64 random_;
  RandomFlowOptions options_;
};

}  // namespace sluice::client
