#include "dataplane/flow/batch.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

void Collide(const Flow& other, const char* how, FlowChangeResult& result) {
  result.status = absl::AlreadyExistsError(absl::StrCat(how, " flow ", other.id));
  result.other_id = other.id;
}

}  // namespace

void Batch::Apply(const FlowChange& change, uint32_t item, FlowChangeResult& result) {
  std::visit(
      [&](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, CreateFlow>) Create(what, item, result);
        if constexpr (std::is_same_v<What, UpdateFlow>) Update(what, item, result);
        if constexpr (std::is_same_v<What, DeleteFlow>) Delete(what, item, result);
        if constexpr (std::is_same_v<What, absl::Status>) result.status = what;
      },
      change);
}

void Batch::Create(const CreateFlow& create, uint32_t item, FlowChangeResult& result) {
  const FlowSpec& spec = create.spec;
  const FlowIdentity identity{spec.table_id, spec.priority, spec.match};
  if (Flow* existing = store_.Find(identity); existing != nullptr) {
    if (!create.allow_existing) return Collide(*existing, "same table, priority and match as", result);
    // OpenFlow's add: the timeouts are the new ones, and begin anew.
    Replace(*existing,
            {.actions = spec.actions,
             .cookie = spec.cookie,
             .idle_timeout = spec.timeouts.idle,
             .hard_timeout = spec.timeouts.hard},
            item);
    return store_.Describe(*existing, result.flow);
  }
  if (create.check_overlap) {
    const Flow* other = store_.FindOverlap(identity);
    if (other != nullptr) {
      return Collide(*other, "some packet could match both this and, at equal priority,", result);
    }
  }
  result.status = store_.RoomFor(spec.table_id, spec.match.mask);
  if (!result.status.ok()) return;
  Flow& flow = store_.Add(spec, now_);
  done_.push_back({.step = Step::kAdded, .item = item, .flow = &flow});
  store_.Describe(flow, result.flow);
  result.created = true;
}

void Batch::Update(const UpdateFlow& update, uint32_t item, FlowChangeResult& result) {
  const absl::StatusOr<Flow*> found = store_.Resolve(update.key);
  result.status = found.status();
  if (!found.ok()) return;
  Flow& flow = **found;
  Replace(flow, update, item);
  if (update.reset_stats) ResetBase(flow.index, flow.counters);
  store_.Describe(flow, result.flow);
}

void Batch::Delete(const DeleteFlow& remove, uint32_t item, FlowChangeResult& result) {
  const absl::StatusOr<Flow*> found = store_.Resolve(remove.key);
  result.status = found.status();
  if (!found.ok()) return;
  store_.Describe(**found, result.flow);
  store_.Remove(**found);
  result.removed = true;
  done_.push_back({.step = Step::kRemoved, .item = item, .flow = *found});
}

void Batch::Replace(Flow& flow, const UpdateFlow& update, uint32_t item) {
  Done done{.step = Step::kReplaced,
            .item = item,
            .flow = &flow,
            .cookie = flow.cookie,
            .base_packets = flow.counters.base_packets,
            .base_bytes = flow.counters.base_bytes};
  done.entry = store_.Replace(flow, update.actions);
  flow.cookie = update.cookie.value_or(flow.cookie);
  const FlowTimeouts before = store_.timers().Of(flow).timeouts;
  done.times = store_.timers().Change(
      flow, {.idle = update.idle_timeout.value_or(before.idle), .hard = update.hard_timeout.value_or(before.hard)},
      /*restart_idle=*/update.idle_timeout.has_value(), now_);
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
      store_.timers().Restore(flow, done.times);
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
