#include "dataplane/meter/meter_table.h"

#include <latch>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {
namespace {

absl::Status NoSuchMeter(uint32_t id) { return absl::NotFoundError(absl::StrCat("there is no meter ", id)); }

}  // namespace

MeterTable::MeterTable(unsigned workers, uint32_t max_meters, Reclaimer& reclaimer)
    : workers_(workers), max_meters_(max_meters), reclaimer_(reclaimer), published_(reclaimer) {}

MeterInfo MeterTable::Put(const MeterSpec& spec) {
  Entry& entry = meters_[spec.id];
  entry.spec = spec;
  if (entry.counters == nullptr) entry.counters = std::make_shared<MeterCounters>(workers_);
  published_.Set(spec.id, std::make_shared<Meter>(spec, workers_, entry.counters));
  return InfoOf(entry);
}

absl::StatusOr<MeterInfo> MeterTable::Create(const MeterSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (meters_.contains(spec.id))
    return absl::AlreadyExistsError(absl::StrCat("there is a meter ", spec.id, " already"));
  if (meters_.size() >= max_meters_) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", max_meters_, " meters already (limits.meters)"));
  }
  return Put(spec);
}

absl::StatusOr<MeterInfo> MeterTable::Update(const MeterSpec& spec, bool may_create) {
  {
    const std::lock_guard lock(mutex_);
    if (meters_.contains(spec.id)) return Put(spec);
  }
  return may_create ? Create(spec) : NoSuchMeter(spec.id);
}

absl::StatusOr<MeterInfo> MeterTable::Delete(uint32_t id) {
  Entry entry;
  const auto unused = std::make_shared<std::latch>(1);
  {
    const std::lock_guard lock(mutex_);
    const auto at = meters_.find(id);
    if (at == meters_.end()) return NoSuchMeter(id);
    entry = std::move(at->second);
    meters_.erase(at);
    published_.Set(id, nullptr);
    reclaimer_.AfterGrace([unused] { unused->count_down(); });
  }
  unused->wait();
  return InfoOf(entry);
}

absl::StatusOr<MeterInfo> MeterTable::Get(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const auto at = meters_.find(id);
  if (at == meters_.end()) return NoSuchMeter(id);
  return InfoOf(at->second);
}

std::vector<MeterInfo> MeterTable::List(uint32_t after, size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<MeterInfo> infos;
  for (auto at = meters_.upper_bound(after); at != meters_.end() && infos.size() < most; ++at) {
    infos.push_back(InfoOf(at->second));
  }
  return infos;
}

size_t MeterTable::size() const {
  const std::lock_guard lock(mutex_);
  return meters_.size();
}

MeterInfo MeterTable::InfoOf(const Entry& entry) {
  MeterInfo info{.spec = entry.spec, .count = entry.counters->all.Read(), .band_counts = {}};
  for (size_t i = 0; i < entry.spec.bands.size(); ++i) info.band_counts.push_back(entry.counters->bands[i]->Read());
  return info;
}

}  // namespace sluice
