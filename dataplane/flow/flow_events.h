// What happened to flows, in the order of the table's versions, for those who
// watch: the last so many events, in one ring that all watchers read.
//
// A watcher has no queue of its own but a place in the ring, so that none can
// hold up a writer or another watcher, or make memory grow: who reads too slowly
// is overtaken and told how many events it missed.
//
// Every change counts as an event and takes the next sequence number, watched or
// not. Events are kept from the first watcher on until kMemory after the last has
// left, so that it may come back and go on; else they are only counted. A removal
// carries final counters, so events are published by the reclaimer, a grace
// period after they took effect: in the order of their commits, of which each is
// one instant for packets.
//
// Threads: After and SetListener are for any control thread. The rest is the flow
// table's; where "locked" stands, under its lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "dataplane/flow/flow_table.h"
#include "dataplane/flow/flow_time.h"

namespace sluice {

enum class FlowEventKind : uint8_t { kCreated, kModified, kRemoved };

struct FlowEvent {
  FlowEventKind kind{};
  FlowRemoval reason{};  // of kRemoved
  FlowInfo flow{};       // after the change; if removed, with its final counters
  uint64_t commit = 0;
  uint64_t sequence = 0;
};

class FlowEvents {
 public:
  static constexpr int64_t kMemory = 300'000'000'000;  // ns

  explicit FlowEvents(size_t capacity) : capacity_(capacity) {}

  struct Reading {
    std::vector<std::shared_ptr<const FlowEvent>> events;
    uint64_t missed = 0;    // before these, and gone
    uint64_t sequence = 0;  // of the last of these: where to go on
    uint64_t commit = 0;    // of all commits up to this one nothing more will come
  };
  // Up to `most` events after the one with this number.
  Reading After(uint64_t sequence, size_t most) const;
  // Called after each publication, by the reclaimer's thread: must return at once
  // and not call back. Empty: nobody.
  void SetListener(std::function<void()> listener);
  uint64_t last() const;  // the newest event's number

  // Locked.
  bool kept() const { return kept_; }
  void AddWatcher();
  void RemoveWatcher(FlowTime now);
  void Forget(FlowTime now);
  // The number of the next commit whose events are kept, or of the last.
  uint64_t NextCommit() { return ++commit_; }
  uint64_t last_commit() const { return commit_; }

  // Events that nobody will ask for.
  void Pass(uint64_t count);
  // Those of a commit; of one that is not complete, more will follow.
  void Publish(std::vector<FlowEvent> events, uint64_t commit, bool complete);

 private:
  const size_t capacity_;
  // Locked.
  uint64_t watchers_ = 0;
  int64_t left_ns_ = 0;
  uint64_t commit_ = 0;
  bool kept_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::shared_ptr<const FlowEvent>> ring_;
  uint64_t last_ = 0;
  uint64_t published_ = 0;  // the last commit that is complete
  bool keep_ = false;       // kept_
  std::function<void()> listener_;
};

}  // namespace sluice
