// What one watcher of flows is told, message by message.
//
// It reads the flow table's ring of events from a place of its own
// (flow_events.h). The flows that are there at the beginning are listed in pages,
// while others change them; a page shows its flows as of some commit. So before
// a page is sent, the events up to that commit are, of the flows in pages before;
// those of flows in pages to come are left out, for these will show them. Flows
// that are added meanwhile are in no page: their events tell all, and so the pages
// come to an end however fast flows are added and however slowly a client reads. That is
// how a change-data-capture takes a snapshot without a lock (Andreakis and Papapanagiotou,
// "DBLog", 2019), with commits in place of watermarks.
//
// Nothing is kept but a page of flows and a message. One thread at a time, any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/flow/flow_events.h"
#include "dataplane/flow/flow_table.h"
#include "sluice/v1/flow_service.pb.h"

namespace sluice {

class FlowWatch {
 public:
  // A message ends at the first event beyond either.
  static constexpr int kMostEvents = 512;
  static constexpr size_t kMostBytes = size_t{128} << 10;
  // A watcher that no event concerns gets a new token after so many.
  static constexpr uint64_t kTokenEvery = 4096;
  // Readings of events, and pages, that are gone through for a message at most.
  static constexpr int kMostSteps = 16;

  // INVALID_ARGUMENT. The table outlives the watch; boot_id tells this start of the
  // switch from others.
  static absl::StatusOr<std::unique_ptr<FlowWatch>> Start(FlowTable& flows, const std::string& boot_id,
                                                          const v1::WatchFlowsRequest& request);
  ~FlowWatch();
  FlowWatch(const FlowWatch&) = delete;
  FlowWatch& operator=(const FlowWatch&) = delete;

  // The next message; false: there is nothing to say until more events are
  // published, or, if it is behind, until it is asked again, after others.
  bool Next(v1::WatchFlowsResponse* out);
  bool behind() const { return behind_; }
  uint64_t missed() const { return missed_; }  // events, so far

 private:
  FlowWatch(FlowTable& flows, std::string boot_id, FlowFilter filter, const FlowTable::WatchStart& start);

  void Begin(bool send_current, std::optional<uint64_t> after, bool restarted);
  bool Full() const { return out_->events_size() >= kMostEvents || bytes_ >= kMostBytes; }
  v1::FlowEvent* Add();
  bool Step();
  bool AwaitsPage(uint64_t id) const { return id > listed_ && id <= last_id_; }
  void Weigh(const v1::FlowEvent& event) { bytes_ += event.ByteSizeLong(); }
  void Miss(uint64_t count);
  bool ReadEvents();
  void Tell(const FlowEvent& event);
  void SendPage();

  FlowTable& flows_;
  const std::string boot_id_;
  const FlowFilter filter_;
  uint64_t sequence_;            // where it stands in the ring
  uint64_t token_sequence_ = 0;  // what the last token said
  uint64_t since_;               // events of commits up to this are not told, since they were before the watch
  const uint64_t last_id_;       // flows with ids up to this were there when the watch began
  uint64_t missed_ = 0;
  bool begun_ = false;
  bool behind_ = false;
  bool restarted_ = false;  // events of an earlier start are lost

  bool listing_ = false;
  uint64_t listed_ = ~uint64_t{0};  // ids up to this are known to the client
  std::optional<FlowTable::Page> page_;
  bool page_due_ = false;  // all events before it are sent
  size_t page_next_ = 0;

  v1::WatchFlowsResponse* out_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice
