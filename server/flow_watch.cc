#include "server/flow_watch.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataplane/flow/flow_filter.h"
#include "server/convert.h"

namespace sluice {
namespace {

constexpr char kTokenSeparator = ':';

// False: not of the form of a token.
bool ReadToken(const std::string& token, std::string& boot_id, uint64_t& sequence) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(token, absl::MaxSplits(kTokenSeparator, 1));
  boot_id = parts.first;
  return !boot_id.empty() && absl::SimpleAtoi(parts.second, &sequence);
}

v1::FlowRemovedReason ReasonToProto(FlowRemoval reason) {
  switch (reason) {
    case FlowRemoval::kIdleTimeout:
      return v1::FLOW_REMOVED_REASON_IDLE_TIMEOUT;
    case FlowRemoval::kHardTimeout:
      return v1::FLOW_REMOVED_REASON_HARD_TIMEOUT;
    case FlowRemoval::kDelete:
      break;
  }
  return v1::FLOW_REMOVED_REASON_DELETE;
}

}  // namespace

FlowWatch::FlowWatch(FlowTable& flows, std::string boot_id, FlowFilter filter, const FlowTable::WatchStart& start)
    : flows_(flows),
      boot_id_(std::move(boot_id)),
      filter_(std::move(filter)),
      sequence_(start.sequence),
      since_(start.commit),
      last_id_(start.flow_id) {}

FlowWatch::~FlowWatch() { flows_.EndWatch(); }

absl::StatusOr<std::unique_ptr<FlowWatch>> FlowWatch::Start(FlowTable& flows, const std::string& boot_id,
                                                            const v1::WatchFlowsRequest& request) {
  ViolationList violations;
  FlowFilter filter;
  FlowFilterFromProto(request.filter(), Path("filter"), violations, filter);
  std::string token_boot;
  uint64_t token_sequence = 0;
  const bool resume = !request.resume_token().empty();
  const bool readable = !resume || ReadToken(request.resume_token(), token_boot, token_sequence);
  const bool ours = token_boot == boot_id;
  if (!readable || (resume && ours && token_sequence > flows.events().last())) {
    violations.Add(
        Path("resume_token"),
        "not a token of a watch: take resume_token of the last message, as it is; empty watches from now on");
  }
  if (!violations.empty()) return violations.ToStatus();
  std::unique_ptr<FlowWatch> watch(new FlowWatch(flows, boot_id, filter, flows.StartWatch()));
  watch->Begin(request.send_current(), resume && ours ? std::optional(token_sequence) : std::nullopt, resume && !ours);
  return watch;
}

void FlowWatch::Begin(bool send_current, std::optional<uint64_t> after, bool restarted) {
  restarted_ = restarted;
  if (after.has_value() && (!send_current || flows_.events().After(*after, 0).missed == 0)) {
    sequence_ = *after;
    since_ = 0;
    return;
  }
  if (after.has_value()) missed_ = sequence_ - *after;  // with those that are left: the flows themselves come anew
  listing_ = send_current;
  if (listing_) listed_ = 0;
}

bool FlowWatch::Next(v1::WatchFlowsResponse* out) {
  out_ = out;
  out->Clear();
  bytes_ = 0;
  const bool first = !std::exchange(begun_, true);
  if (first) {
    if (restarted_ || missed_ > 0) Add()->mutable_missed()->set_count(missed_);
  } else {
    behind_ = true;
    for (int i = 0; i < kMostSteps && behind_ && !Full(); ++i) behind_ = Step();
  }
  const bool token = !listing_ && (first || out->events_size() > 0 || sequence_ - token_sequence_ >= kTokenEvery);
  if (token) {
    out->set_resume_token(absl::StrCat(boot_id_, std::string(1, kTokenSeparator), sequence_));
    token_sequence_ = sequence_;
  }
  return first || token || out->events_size() > 0;
}

// A page, or some events. False: there is nothing more to do for now.
bool FlowWatch::Step() {
  if (listing_ && !page_.has_value()) page_ = flows_.ListPage(filter_, listed_, last_id_);
  if (!page_due_) return ReadEvents();
  SendPage();
  return true;
}

v1::FlowEvent* FlowWatch::Add() { return out_->add_events(); }

void FlowWatch::Miss(uint64_t count) {
  missed_ += count;
  sequence_ += count;
  Add()->mutable_missed()->set_count(count);
}

// Tells events until the message is full, or the next page is due. False: there
// is nothing more to do for now.
bool FlowWatch::ReadEvents() {
  const FlowEvents::Reading reading = flows_.events().After(sequence_, kMostEvents);
  if (reading.missed > 0) Miss(reading.missed);
  for (const auto& event : reading.events) {
    if (Full()) return true;
    if (page_.has_value() && event->commit > page_->commit) {
      page_due_ = true;
      return true;
    }
    Tell(*event);
    sequence_ = event->sequence;
  }
  page_due_ = page_.has_value() && reading.commit >= page_->commit;
  return page_due_ || !reading.events.empty() || reading.missed > 0;
}

void FlowWatch::Tell(const FlowEvent& event) {
  if (event.commit <= since_ || AwaitsPage(event.flow.id) || !Selects(filter_, event.flow.spec)) return;
  v1::FlowEvent* out = Add();
  out->set_sequence(event.sequence);
  switch (event.kind) {
    case FlowEventKind::kCreated:
      FlowToProto(event.flow, out->mutable_created());
      break;
    case FlowEventKind::kModified:
      FlowToProto(event.flow, out->mutable_modified());
      break;
    case FlowEventKind::kRemoved:
      FlowToProto(event.flow, out->mutable_removed()->mutable_flow());
      out->mutable_removed()->set_reason(ReasonToProto(event.reason));
      break;
  }
  Weigh(*out);
}

void FlowWatch::SendPage() {
  for (; page_next_ < page_->flows.size(); ++page_next_) {
    if (Full()) return;
    v1::FlowEvent* out = Add();
    FlowToProto(page_->flows[page_next_], out->mutable_current());
    Weigh(*out);
  }
  listed_ = page_->examined;
  page_.reset();
  page_due_ = false;
  page_next_ = 0;
  if (listed_ != ~uint64_t{0}) return;
  listing_ = false;
  Add()->mutable_synced();
}

}  // namespace sluice
