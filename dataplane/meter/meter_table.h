// All meters: the one place where they change.
//
// As groups (group/group_table.h): a change is shown to the workers by one store,
// meters are looked up by number for each packet, and one that does not exist lets
// everything pass. A meter that was changed begins with full buckets; its counters
// go on, those of bands by their place.
//
// Any control thread; a mutex stands among them.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/flow/published_map.h"
#include "dataplane/meter/meter.h"

namespace sluice {

class Reclaimer;

class MeterTable {
 public:
  // The reclaimer outlives the table.
  MeterTable(unsigned workers, uint32_t max_meters, Reclaimer& reclaimer);

  // ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond max_meters.
  absl::StatusOr<MeterInfo> Create(const MeterSpec& spec);
  // Replaces unit and bands. NOT_FOUND, unless may_create; else as Create.
  absl::StatusOr<MeterInfo> Update(const MeterSpec& spec, bool may_create);
  // Waits until no worker uses it: the final counters. NOT_FOUND.
  absl::StatusOr<MeterInfo> Delete(uint32_t id);
  absl::StatusOr<MeterInfo> Get(uint32_t id) const;
  // Those with a higher id than `after`, ascending, at most so many.
  std::vector<MeterInfo> List(uint32_t after, size_t most) const;
  size_t size() const;
  uint32_t max_meters() const { return max_meters_; }

  // For workers.
  const PublishedMap<Meter>& published() const { return published_; }

 private:
  struct Entry {
    MeterSpec spec;
    std::shared_ptr<MeterCounters> counters;
  };

  MeterInfo Put(const MeterSpec& spec);
  static MeterInfo InfoOf(const Entry& entry);

  const unsigned workers_;
  const uint32_t max_meters_;
  Reclaimer& reclaimer_;
  mutable std::mutex mutex_;          // guards what follows, and publishing
  std::map<uint32_t, Entry> meters_;  // by id
  PublishedMap<Meter> published_;
};

}  // namespace sluice
