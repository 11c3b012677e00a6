// From a packet's key to the flow that wins: the workers' side of the flow table.
//
// What it computes. A flow is a value under a mask, and a rank: its priority,
// then its age (entry.h). Of the flows whose mask applied to the key gives their
// value, the one with the highest rank wins. Flows may overlap as they like.
//
// Tuple space search. Flows with the same mask share a subtable, a hash table of
// masked keys: one probe tells whether any of them matches. So a lookup costs a
// probe a mask and not a comparison a flow. The masks of a table stand in an
// array by descending bound, the highest rank in the subtable. A packet is done
// when the next bound is below the rank that it has already: no flow from there
// on could beat it. (First match would be wrong: a later mask may hold a flow
// of higher rank unless its bound says otherwise.) Whoever promises that flows
// of equal priority are disjoint may have first match in the order of use
// instead (options.h, table.h).
//
// Pruning. In a table of many masks an index tells from the packet's 16-bit
// chunks under which of them it can match at all, mostly one or two; only those
// are probed, in the array's order (mask_index.h, candidates.h). With few masks
// there is no index, and with pruning off a worker's mask cache may name the mask
// to begin with (mask_cache.h).
//
// Thirty-two packets at a time (walk.h), each with the mask that it has come to:
// first all hashes are computed, over the words in which the mask has a bit, and
// the buckets' lines asked for; then all tags are compared, eight bytes at once,
// and the entries' lines asked for; then keys are verified. A bitmap says which
// packets still look: it loses those that are done. Without an index all packets
// come to the same mask, so that a batch of one flow stops where that flow does.
//
// Buckets are a cache line: seven chains, a byte of the hash (the tag) for each,
// and a count of the chains that found this bucket full and went on to the next.
// A lookup goes on to the next bucket only where that count is not zero. Nothing
// is moved within an array; growing builds a new one and publishes it.
//
// Chains hold the entries of one masked key by descending rank: flows of several
// priorities, and several versions of one flow. The first that is visible wins.
//
// Ranges of ports that a mask can say are masks. Else the mask says of which port
// there is one, so that all flows of a subtable have them or none has; they lie
// behind the entry's words, and the walk passes over entries whose ranges do not
// contain the packet's ports. A flow with a range is one entry, and costs no
// further mask. Where a chain of such flows grows long, an index takes the place
// of the walk: bitmaps of the flows that contain a port, blocks of them by rank
// (range_index.h, range_chain.h).
//
// Versions. An entry is there in versions [added, removed). The writer links new
// entries, sets `removed` of old ones to the version to come, raises bounds, and
// then makes it all visible at once by one release store of the version. A
// worker reads the version once a burst and sees the tables as of it, whatever
// happens meanwhile. A modified flow is a new entry with the same rank that is
// added in the version that removes the old.
//
// What a worker may still need stays. After a grace period no worker looks at a
// version below; then entries removed by it are unlinked (their `next` goes on
// to lead those who stand on them back), bounds are lowered, empty subtables
// leave the array; after another grace period the memory is freed. So an array
// of masks that is newer than the version in hand is as good: it has every mask,
// bounds that are high enough and an index that has its entries. Order of loads:
// the version, then the array.
//
//   key ──▶ table ──▶ array of (bound, subtable) ──▶ buckets ──▶ chain of entries
//                       └▶ index: which of them         └──▶ index of a long chain with ranges
//
// Threads. Lookup: each worker, online with the reclaimer (worker/reclaimer.h);
// no lock, no allocation, nothing shared is written: what workers count, each
// does on lines of its own. Whatever changes a table is the writer's, under the
// flow table's lock.
//
// In front of it stands each worker's flow cache (flow_cache.h).

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/classifier/change_log.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/miss_policy.h"
#include "dataplane/flow/action.h"
#include "dataplane/packet/key.h"

namespace sluice {

class ClassifierTable;
struct Interest;

// Packets that are looked up together.
inline constexpr unsigned kBatch = 32;

// Entries come from entry.h, with what a worker does with one: its actions, and
// counting. What a worker holds of an entry is valid until its next quiescent
// state.

// What a burst sees of the tables.
struct TableView {
  uint64_t version;
  uint64_t horizon;          // answers of versions before it are forgotten
  const Interest* interest;  // enough for the version
  const ChangeLog* log;
};

class Classifier {
 public:
  Classifier();
  ~Classifier();

  // A worker takes it once a burst, before it parses.
  TableView View() const {
    const uint64_t horizon = log_.horizon();
    const uint64_t version = version_.load(std::memory_order_acquire);
    return {version, horizon, interest_.load(std::memory_order_acquire), &log_};
  }
  // The version that a burst sees; a worker reads it once a burst.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // Worker `worker`, online. Looks up n <= kBatch keys in a table as of
  // `version`: entries[i] becomes the entry of the flow that wins, or null.
  void Lookup(unsigned worker, uint8_t table_id, uint64_t version, const PacketKey* keys, unsigned n,
              const ClassifierEntry** entries);

  // Counts packets as looked up for which a worker remembered what a lookup gave,
  // and of these the ones with an entry.
  void CountRemembered(unsigned worker, uint8_t table_id, unsigned packets, unsigned matches);

  // A worker's, and any other thread's.
  MissPolicy miss_policy(uint8_t table_id) const { return miss_policies_[table_id].load(std::memory_order_relaxed); }
  // The writer's: from every worker's next packet on.
  void SetMissPolicy(uint8_t table_id, MissPolicy policy) {
    miss_policies_[table_id].store(policy, std::memory_order_relaxed);
  }

  // The writer's: of versions to come. Returns the one before.
  std::unique_ptr<const Interest> SetInterest(std::unique_ptr<const Interest> interest);
  const Interest& interest() const { return *interest_.load(std::memory_order_relaxed); }
  ChangeLog& log() { return log_; }
  // The writer's: makes visible what was done for `version`.
  void Publish(uint64_t version) { version_.store(version, std::memory_order_release); }
  // The writer's: the table exists from now on.
  void AddTable(uint8_t table_id, ClassifierTable* table) { tables_[table_id].store(table, std::memory_order_release); }

 private:
  alignas(64) std::atomic<uint64_t> version_{1};
  std::atomic<const Interest*> interest_;
  ChangeLog log_;
  alignas(64) std::array<std::atomic<ClassifierTable*>, 256> tables_{};
  std::array<std::atomic<MissPolicy>, 256> miss_policies_{};
};

}  // namespace sluice
