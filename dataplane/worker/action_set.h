// The actions that a packet gathers on its way through the tables (OpenFlow's
// action set), and the order in which they are carried out in the end.
//
// As OpenFlow says: pops, pushes of MPLS, then of VLAN, TTLs, writes of fields as
// they came, then the group, or without one the output, to a port or to controllers. Of each kind but writes
// the last one counts. Without group and output nothing is carried out.
//
// One a worker, used for one packet at a time. Holds pointers into lists that
// live until the worker's next quiescent state.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/flow/action.h"

namespace sluice {

class ActionSet {
 public:
  bool empty() const { return used_ == 0 && field_count_ == 0; }
  void Clear();
  // False, and nothing is added, if it holds as many writes of fields as it can.
  bool Add(const Action& action);
  // What is to be carried out, in order. Valid until something is added.
  std::span<const Action* const> InOrder();

 private:
  enum Kind : uint8_t { kPopVlan, kPopMpls, kPushMpls, kPushVlan, kDecTtl, kDecMplsTtl, kOutput, kGroup, kKinds };
  // More than any table of flows made by hand has; 254 tables of 64 actions could have more.
  static constexpr unsigned kMostFields = 1024;

  static Kind KindOf(const Action& action);

  uint32_t used_ = 0;  // bit k: last_[k] is set
  unsigned field_count_ = 0;
  std::array<const Action*, kKinds> last_;
  std::array<const Action*, kMostFields> fields_;
  std::array<const Action*, kKinds + kMostFields> ordered_;
};

}  // namespace sluice
