#include "dataplane/flow/batch.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

FlowChangeResult Failure(absl::Status status) { return {.status = std::move(status), .other_id = 0, .flow = {}}; }

FlowChangeResult Collision(const Flow& other, const char* how) {
  return {.status = absl::AlreadyExistsError(absl::StrCat(how, " flow ", other.id)), .other_id = other.id, .flow = {}};
}

}  // namespace

FlowChangeResult Batch::Apply(const FlowChange& change, uint32_t item) {
  return std::visit(
      [&](const auto& what) -> FlowChangeResult {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, CreateFlow>) return Create(what, item);
        if constexpr (std::is_same_v<What, UpdateFlow>) return Update(what, item);
        if constexpr (std::is_same_v<What, DeleteFlow>) return Delete(what, item);
        if constexpr (std::is_same_v<What, absl::Status>) return Failure(what);
      },
      change);
}

FlowChangeResult Batch::Create(const CreateFlow& create, uint32_t item) {
  const FlowSpec& spec = create.spec;
  const FlowIdentity identity{spec.table_id, spec.priority, spec.match};
  if (Flow* existing = store_.Find(identity); existing != nullptr) {
    if (!create.allow_existing) return Collision(*existing, "same table, priority and match as");
    Replace(*existing, spec.actions, spec.cookie, item);
    return {.status = absl::OkStatus(), .other_id = 0, .flow = store_.InfoOf(*existing)};
  }
  if (create.check_overlap) {
    const Flow* other = store_.FindOverlap(identity);
    if (other != nullptr) return Collision(*other, "some packet could match both this and, at equal priority,");
  }
  if (absl::Status room = store_.RoomFor(spec.table_id, spec.match.mask); !room.ok()) return Failure(std::move(room));
  Flow& flow = store_.Add(spec, now_unix_ns_);
  done_.push_back({.step = Step::kAdded, .item = item, .flow = &flow});
  return {.status = absl::OkStatus(), .other_id = 0, .flow = store_.InfoOf(flow), .created = true};
}

FlowChangeResult Batch::Update(const UpdateFlow& update, uint32_t item) {
  absl::StatusOr<Flow*> found = store_.Resolve(update.key);
  if (!found.ok()) return Failure(std::move(found).status());
  Flow& flow = **found;
  Replace(flow, update.actions, update.cookie, item);
  if (update.reset_stats) ResetBase(flow.index, flow.counters);
  return {.status = absl::OkStatus(), .other_id = 0, .flow = store_.InfoOf(flow)};
}

FlowChangeResult Batch::Delete(const DeleteFlow& remove, uint32_t item) {
  absl::StatusOr<Flow*> found = store_.Resolve(remove.key);
  if (!found.ok()) return Failure(std::move(found).status());
  FlowChangeResult result{.status = absl::OkStatus(), .other_id = 0, .flow = store_.InfoOf(**found)};
  store_.Remove(**found);
  done_.push_back({.step = Step::kRemoved, .item = item, .flow = *found});
  return result;
}

void Batch::Replace(Flow& flow, const ActionList& actions, std::optional<uint64_t> cookie, uint32_t item) {
  Done done{.step = Step::kReplaced,
            .item = item,
            .flow = &flow,
            .cookie = flow.cookie,
            .base_packets = flow.counters.base_packets,
            .base_bytes = flow.counters.base_bytes};
  done.entry = store_.Replace(flow, actions);
  flow.cookie = cookie.value_or(flow.cookie);
  done_.push_back(done);
}

void Batch::Undo() {
  for (; !done_.empty(); done_.pop_back()) UndoOne(done_.back());
  store_.Settle();
}

void Batch::UndoOne(const Done& done) {
  Flow& flow = *done.flow;
  switch (done.step) {
    case Step::kAdded:
      store_.UndoAdd(flow);
      break;
    case Step::kReplaced:
      store_.UndoReplace(flow, done.entry);
      flow.cookie = done.cookie;
      flow.counters.base_packets = done.base_packets;
      flow.counters.base_bytes = done.base_bytes;
      break;
    case Step::kRemoved:
      store_.UndoRemove(flow);
      break;
  }
}

std::vector<Retired> Batch::Commit() {
  std::vector<Retired> retired;
  for (const Done& done : done_) {
    if (done.step == Step::kReplaced) retired.push_back({done.entry, false, done.item});
    if (done.step == Step::kRemoved) retired.push_back({done.flow->entry, true, done.item});
  }
  if (!done_.empty()) store_.Publish();
  return retired;
}

}  // namespace sluice
