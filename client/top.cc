#include "client/top.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flow_text.h"
#include "client/output.h"

namespace sluice::client {
namespace {

uint64_t Since(uint64_t before, uint64_t now) { return now >= before ? now - before : now; }

using Reasons = std::map<std::string, uint64_t>;

void AddReasons(const google::protobuf::Map<std::string, uint64_t>& before,
                const google::protobuf::Map<std::string, uint64_t>& now, Reasons& out) {
  for (const auto& [reason, count] : now) {
    const auto old = before.find(reason);
    const uint64_t delta = Since(old == before.end() ? 0 : old->second, count);
    if (delta > 0) out[reason] += delta;
  }
}

// What a port, or the switch, did between two readings.
struct PortDelta {
  const v1::Port* port;
  uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
  Reasons drops;  // receive_… and transmit_…
};

PortDelta DeltaOf(const v1::Port& before, const v1::Port& now) {
  const v1::PortStats &a = before.stats(), &b = now.stats();
  PortDelta delta{&now,
                  Since(a.receive_packets(), b.receive_packets()),
                  Since(a.receive_bytes(), b.receive_bytes()),
                  Since(a.transmit_packets(), b.transmit_packets()),
                  Since(a.transmit_bytes(), b.transmit_bytes()),
                  {}};
  AddReasons(a.transmit_drops(), b.transmit_drops(), delta.drops);
  for (const auto& [reason, count] :
       {std::pair{"rx_missed", Since(a.receive_missed(), b.receive_missed())},
        std::pair{"rx_errors", Since(a.receive_errors(), b.receive_errors())},
        std::pair{"rx_no_buffers", Since(a.receive_no_buffers(), b.receive_no_buffers())}}) {
    if (count > 0) delta.drops[reason] = count;
  }
  return delta;
}

std::vector<PortDelta> PortDeltas(const TopFrame& frame) {
  std::vector<PortDelta> deltas;
  for (const v1::Port& port : frame.now.ports.ports()) {
    const v1::Port* before = &v1::Port::default_instance();
    for (const v1::Port& other : frame.before.ports.ports()) {
      if (other.spec().name() == port.spec().name()) before = &other;
    }
    deltas.push_back(DeltaOf(*before, port));
  }
  return deltas;
}

struct TotalDelta {
  uint64_t received, forwarded;
  Reasons drops;
};

TotalDelta TotalDeltaOf(const TopFrame& frame) {
  const v1::PacketTotals &a = frame.before.info.totals(), &b = frame.now.info.totals();
  TotalDelta delta{Since(a.received(), b.received()), Since(a.forwarded(), b.forwarded()), {}};
  AddReasons(a.drops(), b.drops(), delta.drops);
  return delta;
}

struct WorkerDelta {
  const v1::Worker* worker;
  double busy;  // 0 to 1
  uint64_t sleeps;
};

std::vector<WorkerDelta> WorkerDeltas(const TopFrame& frame) {
  std::vector<WorkerDelta> deltas;
  for (int i = 0; i < std::min(frame.now.info.workers_size(), frame.before.info.workers_size()); ++i) {
    const v1::Worker &a = frame.before.info.workers(i), &b = frame.now.info.workers(i);
    const auto busy = static_cast<double>(Since(a.busy_cycles(), b.busy_cycles()));
    const auto idle = static_cast<double>(Since(a.idle_cycles(), b.idle_cycles()));
    deltas.push_back({&b, busy + idle > 0 ? busy / (busy + idle) : 0, Since(a.sleeps(), b.sleeps())});
  }
  return deltas;
}

// A second.
class Rates {
 public:
  explicit Rates(double seconds) : seconds_(std::max(seconds, 1e-3)) {}
  double Of(uint64_t count) const { return static_cast<double>(count) / seconds_; }
  std::string Text(uint64_t count) const { return FormatRate(Of(count)); }
  std::string Bits(uint64_t bytes) const { return FormatRate(Of(bytes) * 8); }
  std::string Text(const Reasons& reasons) const {
    std::string out;
    for (const auto& [reason, count] : reasons)
      absl::StrAppend(&out, out.empty() ? "" : ", ", reason, " ", Text(count));
    return out.empty() ? "-" : out;
  }
  std::string Json(uint64_t count) const { return absl::StrFormat("%.3f", Of(count)); }
  std::string Json(const Reasons& reasons) const {
    return absl::StrCat("{",
                        absl::StrJoin(reasons, ", ",
                                      [this](std::string* out, const auto& reason) {
                                        absl::StrAppend(out, JsonString(reason.first), ": ", Json(reason.second));
                                      }),
                        "}");
  }

 private:
  double seconds_;
};

std::string Head(const TopFrame& frame, const std::string& address) {
  const Rates rates(frame.seconds());
  const TotalDelta totals = TotalDeltaOf(frame);
  uint64_t dropped = 0;
  for (const auto& [reason, count] : totals.drops) dropped += count;
  const absl::Duration up = frame.now.time - absl::FromUnixSeconds(frame.now.info.start_time().seconds());
  return absl::StrCat("sluice ", frame.now.info.version(), " at ", address, ", up ",
                      absl::FormatDuration(absl::Trunc(up, absl::Seconds(1))), "; a second, over ",
                      absl::StrFormat("%.1f s", frame.seconds()), "\nreceived ", rates.Text(totals.received),
                      ", forwarded ", rates.Text(totals.forwarded), ", dropped ", rates.Text(dropped),
                      dropped > 0 ? absl::StrCat(" (", rates.Text(totals.drops), ")") : "", "\n\n");
}

}  // namespace

void FlowDeltas::Add(const v1::Flow& flow) {
  if (keep_ == 0) return;
  const Counters counters{flow.stats().packets(), flow.stats().bytes()};
  now_.insert_or_assign(flow.id(), counters);
  const auto old = before_.find(flow.id());
  const Counters before = old == before_.end() ? Counters{} : old->second;
  FlowDelta delta;
  delta.packets = Since(before.packets, counters.packets);
  delta.bytes = Since(before.bytes, counters.bytes);
  if (delta.packets == 0 || (best_.size() == keep_ && !Busier(delta, best_.front()))) return;
  delta.flow = flow;
  const auto busier = [this](const FlowDelta& a, const FlowDelta& b) { return Busier(a, b); };
  if (best_.size() == keep_) {
    std::pop_heap(best_.begin(), best_.end(), busier);
    best_.pop_back();
  }
  best_.push_back(std::move(delta));
  std::push_heap(best_.begin(), best_.end(), busier);
}

std::vector<FlowDelta> FlowDeltas::Finish() {
  before_ = std::exchange(now_, {});
  std::vector<FlowDelta> out = std::exchange(best_, {});
  std::sort_heap(out.begin(), out.end(), [this](const FlowDelta& a, const FlowDelta& b) { return Busier(a, b); });
  return out;
}

bool FlowDeltas::Busier(const FlowDelta& a, const FlowDelta& b) const {
  return by_ == By::kPackets ? a.packets > b.packets : a.bytes > b.bytes;
}

std::string FormatRate(double rate) {
  const char* factor = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (rate < 999.5) break;
    rate /= 1000;
    factor = next;
  }
  const bool whole = *factor == '\0' || rate >= 99.95;
  return absl::StrCat(absl::StrFormat("%.*f", whole ? 0 : rate >= 9.995 ? 1 : 2, rate), factor);
}

std::string TopText(const TopFrame& frame, const std::string& address) {
  const Rates rates(frame.seconds());
  std::ostringstream out;
  out << Head(frame, address);
  TableText ports({"PORT", "NAME", "RX-PPS", "RX-BPS", "TX-PPS", "TX-BPS", "DROPS"});
  for (const PortDelta& delta : PortDeltas(frame)) {
    ports.Add({absl::StrCat(delta.port->spec().number()), delta.port->spec().name(), rates.Text(delta.rx_packets),
               rates.Bits(delta.rx_bytes), rates.Text(delta.tx_packets), rates.Bits(delta.tx_bytes),
               rates.Text(delta.drops)});
  }
  ports.Print(out);
  TableText workers({"WORKER", "CPU", "BUSY-%", "SLEEPS"});
  for (const WorkerDelta& delta : WorkerDeltas(frame)) {
    workers.Add({absl::StrCat(delta.worker->id()), absl::StrCat(delta.worker->cpu()),
                 absl::StrFormat("%.1f", 100 * delta.busy), rates.Text(delta.sleeps)});
  }
  out << "\n";
  workers.Print(out);
  TableText flows({"FLOW", "PPS", "BPS", "MATCH AND ACTIONS"});
  for (const FlowDelta& delta : frame.flows) {
    flows.Add({absl::StrCat(delta.flow.id()), rates.Text(delta.packets), rates.Bits(delta.bytes),
               FormatSpec(delta.flow.spec())});
  }
  out << "\n";
  if (!frame.flows.empty()) flows.Print(out);
  return out.str();
}

std::string TopJson(const TopFrame& frame) {
  const Rates rates(frame.seconds());
  const TotalDelta totals = TotalDeltaOf(frame);
  std::vector<std::string> ports, workers, flows;
  for (const PortDelta& delta : PortDeltas(frame)) {
    ports.push_back(JsonObject({{"name", JsonString(delta.port->spec().name())},
                                {"number", absl::StrCat(delta.port->spec().number())},
                                {"receive_packets", rates.Json(delta.rx_packets)},
                                {"receive_bytes", rates.Json(delta.rx_bytes)},
                                {"transmit_packets", rates.Json(delta.tx_packets)},
                                {"transmit_bytes", rates.Json(delta.tx_bytes)},
                                {"drops", rates.Json(delta.drops)}}));
  }
  for (const WorkerDelta& delta : WorkerDeltas(frame)) {
    workers.push_back(JsonObject({{"id", absl::StrCat(delta.worker->id())},
                                  {"busy", absl::StrFormat("%.4f", delta.busy)},
                                  {"sleeps", rates.Json(delta.sleeps)}}));
  }
  for (const FlowDelta& delta : frame.flows) {
    flows.push_back(JsonObject({{"id", JsonString(absl::StrCat(delta.flow.id()))},
                                {"flow", JsonString(FormatSpec(delta.flow.spec()))},
                                {"packets", rates.Json(delta.packets)},
                                {"bytes", rates.Json(delta.bytes)}}));
  }
  const auto list = [](const std::vector<std::string>& items) {
    return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
  };
  return JsonObject({{"seconds", absl::StrFormat("%.3f", frame.seconds())},
                     {"received", rates.Json(totals.received)},
                     {"forwarded", rates.Json(totals.forwarded)},
                     {"drops", rates.Json(totals.drops)},
                     {"ports", list(ports)},
                     {"workers", list(workers)},
                     {"flows", list(flows)}});
}

}  // namespace sluice::client
