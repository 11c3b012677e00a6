// The flow table: the one writer of flows, and what readers may ask of it.
//
// Writers hold a mutex among themselves. A change, or a whole batch, becomes
// visible to packets by one release store of the table's version: every entry
// says from which version on and until which it is there, and a worker reads
// the version once a burst. What was removed is unlinked after every worker has
// passed a quiescent state since (Reclaimer): then its counters are final. It is
// freed after another, once flow caches no longer remember it (change_log.h).
//
// All public functions: any control thread. None blocks on a worker. The side
// that workers use is classifier/classifier.h.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dataplane/classifier/miss_policy.h"
#include "dataplane/classifier/options.h"
#include "dataplane/flow/action.h"
#include "dataplane/flow/flow_time.h"
#include "dataplane/flow/flow_timeouts.h"
#include "dataplane/flow/match.h"

namespace sluice {

class Classifier;
class FlowEvents;
class Reclaimer;
struct FlowExplanation;
struct HashKey;

// A flow as a controller writes it.
struct FlowSpec {
  uint8_t table_id = 0;
  uint16_t priority = 0;
  Match match{};
  ActionList actions{};
  uint64_t cookie = 0;
  FlowTimeouts timeouts{};
};

struct FlowStats {
  uint64_t packets = 0;
  uint64_t bytes = 0;                           // as received, without FCS
  absl::Time last_used = absl::InfinitePast();  // InfinitePast: never
};

// A flow as the switch holds it, copied out.
struct FlowInfo {
  uint64_t id = 0;
  FlowSpec spec{};
  FlowStats stats{};
  absl::Time create_time{};
  absl::Time modify_time = absl::InfinitePast();  // of flows with timeouts; else InfinitePast
};

struct FlowIdentity {
  uint8_t table_id = 0;
  uint16_t priority = 0;
  Match match{};
};
using FlowKey = std::variant<uint64_t /* id */, FlowIdentity>;

// Selects flows; what is left out selects everything.
struct FlowFilter {
  std::optional<uint8_t> table_id{};
  std::optional<uint16_t> priority{};
  Match match{};  // flows with IsWithin(flow.match, match)
  uint64_t cookie = 0;
  uint64_t cookie_mask = 0;
  std::optional<uint32_t> out_port{};  // flows with an output to this port
};

struct CreateFlow {
  FlowSpec spec{};
  bool allow_existing = false;
  bool check_overlap = false;
};
struct UpdateFlow {
  FlowKey key{};
  ActionList actions{};
  std::optional<uint64_t> cookie{};
  std::optional<uint16_t> idle_timeout{};  // s; 0: never
  std::optional<uint16_t> hard_timeout{};  // s; 0: never
  bool reset_stats = false;
};
struct DeleteFlow {
  FlowKey key{};
};
// A status stands for an item that was refused before it came here: it fails
// with that status, in its place.
using FlowChange = std::variant<CreateFlow, UpdateFlow, DeleteFlow, absl::Status>;

struct FlowChangeResult {
  absl::Status status{};  // ALREADY_EXISTS, NOT_FOUND, RESOURCE_EXHAUSTED, or the item's own
  uint64_t other_id = 0;  // with ALREADY_EXISTS: the flow that is in the way
  FlowInfo flow{};        // after the change; of a delete: with its final counters
  bool created = false;
  bool removed = false;
};

enum class BatchMode { kPerItem, kAllOrNothing };

struct FlowTableLimits {
  uint64_t max_flows = 1'000'000;
  uint32_t max_masks_per_table = 4096;
  uint32_t kept_events = 65'536;  // for watchers; some 700 bytes each
};

// Why a flow was removed.
enum class FlowRemoval : uint8_t { kIdleTimeout, kHardTimeout, kDelete };
inline constexpr int kFlowRemovalCount = 3;

struct TableInfo {
  uint8_t id = 0;
  MissPolicy miss_policy = MissPolicy::kDrop;
  uint64_t flow_count = 0;
  uint32_t mask_count = 0;
  uint64_t lookups = 0;          // packets
  uint64_t matches = 0;          // packets
  uint64_t masks_visited = 0;    // summed over packets
  uint64_t mask_cache_hits = 0;  // packets whose winner's mask the mask cache named
  uint64_t pruned_lookups = 0;   // packets that went through the pruning index
  uint32_t indexed_masks = 0;    // 0: no index
  uint64_t index_bytes = 0;
};

struct MaskInfo {
  PacketKey mask{};
  uint64_t flow_count = 0;
  uint16_t max_priority = 0;
  uint64_t lookups = 0;  // packets for which it was tried
  uint64_t hits = 0;     // packets for which it gave the winner
};

class FlowTable {
 public:
  // worker_count: how many workers will ever count; reclaimer outlives the table.
  FlowTable(unsigned worker_count, FlowTableLimits limits, Reclaimer& reclaimer, const ClassifierOptions& options = {});
  // With a hash that is known.
  FlowTable(unsigned worker_count, FlowTableLimits limits, Reclaimer& reclaimer, const HashKey& hash_key,
            const ClassifierOptions& options = {}, FlowClock clock = ReadFlowTime);
  // Waits for the reclaimer: done has been called for every write.
  ~FlowTable();

  using Done = std::function<void(std::vector<FlowChangeResult>)>;
  // Carries out the changes in order, visible in one instant; each sees what
  // those before it did. kAllOrNothing: if one fails, none is carried out; all are
  // tried, and the status of those that did not fail is ABORTED. validate_only:
  // answers as if, changes nothing; new flows have no id. done is called once:
  // before Write returns if nothing was deleted, else by the reclaimer's thread
  // when the counters are final.
  void Write(std::span<const FlowChange> changes, BatchMode mode, bool validate_only, Done done);

  struct DeletedSum {
    uint64_t count = 0;
    FlowStats stats{};
  };
  // Removes all that the filter selects in one instant; done as above.
  void DeleteMatching(const FlowFilter& filter, std::function<void(DeletedSum)> done);

  absl::StatusOr<FlowInfo> Get(const FlowKey& key) const;
  // Up to `limit` flows with an id above after_id, by ascending id. Examines a
  // bounded number of flows under the lock at a time.
  std::vector<FlowInfo> List(const FlowFilter& filter, uint64_t after_id, size_t limit) const;

  // Flows with ids above after_id and up to last_id as of one instant, examining a bounded number.
  struct Page {
    std::vector<FlowInfo> flows;
    uint64_t examined = 0;  // ids up to this; all ones: all of them
    uint64_t commit = 0;    // FlowEvents' number of the last change that these show
  };
  Page ListPage(const FlowFilter& filter, uint64_t after_id, uint64_t last_id) const;

  // Between the two, and for a while after, events are kept. What comes before the
  // watch: the last event published, the last commit, and the last id given to a flow.
  struct WatchStart {
    uint64_t sequence = 0;
    uint64_t commit = 0;
    uint64_t flow_id = 0;
  };
  WatchStart StartWatch();
  void EndWatch();
  FlowEvents& events();
  // How many flows were ever removed, by FlowRemoval.
  std::array<uint64_t, kFlowRemovalCount> removals() const;

  uint64_t size() const;
  std::vector<TableInfo> Tables() const;
  TableInfo Table(uint8_t table_id) const;
  // From every worker's next packet on. The table counts what is looked up in it from then on.
  void SetMissPolicy(uint8_t table_id, MissPolicy policy);
  // In the order in which a lookup tries them.
  std::vector<MaskInfo> Masks(uint8_t table_id) const;
  const FlowTableLimits& limits() const;

  // Asks why a packet hits the flow that it hits: fn may ask table by table, and no
  // flow changes until it returns. Counts nothing.
  using ExplainTable = std::function<FlowExplanation(uint8_t table_id, const PacketKey& key)>;
  void Explain(const std::function<void(const ExplainTable&)>& fn) const;

  // Refills what workers take counters from, re-sorts masks when it is time and
  // removes flows that have passed a timeout, a bounded number in one go, of which
  // no more hold up a writer than a batch would; to be called every 10 ms or so.
  void Housekeep();

  // While workers look up; each call of theirs sees either what was or what is.
  void SetOptions(const ClassifierOptions& options);
  ClassifierOptions options() const;
  // Orders masks by what was used since the last time, whatever the period.
  void Resort();

  // The workers' side.
  Classifier& classifier();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
