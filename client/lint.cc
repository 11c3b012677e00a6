#include "client/lint.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "client/lint_match.h"

namespace sluice::client {
namespace {

constexpr uint32_t kTables = 255;

struct Flow {
  size_t index;  // in what was given, so also its age
  uint32_t priority;
  LintMatch match;
};

// Flows of a table (and a priority) that look at the same bits.
struct Shape {
  LintShape bits;
  std::vector<const Flow*> flows;
};

using Shapes = std::vector<Shape>;
using Projected = absl::flat_hash_map<LintValues, std::vector<const Flow*>>;

Shapes ShapesOf(const std::vector<const Flow*>& flows) {
  absl::flat_hash_map<LintShape, size_t> known;
  Shapes shapes;
  for (const Flow* flow : flows) {
    const auto [it, is_new] = known.try_emplace(flow->match.shape(), shapes.size());
    if (is_new) shapes.push_back({flow->match.shape(), {}});
    shapes[it->second].flows.push_back(flow);
  }
  return shapes;
}

// The flows by what they say of some bits that they all look at.
Projected Project(const std::vector<const Flow*>& flows, const LintShape& bits) {
  Projected projected;
  for (const Flow* flow : flows) projected[flow->match.ValuesOf(bits)].push_back(flow);
  return projected;
}

bool Beats(const Flow& a, const Flow& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.index < b.index;
}

class Linter {
 public:
  Linter(std::span<const v1::FlowSpec> specs, size_t max_overlaps)
      : specs_(specs), max_overlaps_(max_overlaps), shadowed_(specs.size()) {
    flows_.reserve(specs.size());
    for (size_t i = 0; i < specs.size(); ++i) {
      flows_.push_back({i, specs[i].priority(), LintMatch(specs[i].match())});
    }
    for (const Flow& flow : flows_) by_table_[specs[flow.index].table_id()].push_back(&flow);
  }

  void FindShadowed() {
    std::vector<const Flow*> by(specs_.size());
    for (const auto& [table, flows] : by_table_) {
      const Shapes shapes = ShapesOf(flows);
      for (const Shape& above : shapes) Shadow(above, shapes, by);
    }
    for (const Flow& flow : flows_) {
      const Flow* other = by[flow.index];
      if (other == nullptr) continue;
      shadowed_[flow.index] = true;
      Add(LintKind::kShadowed, flow.index, other->index);
    }
  }

  void FindOverlaps() {
    std::vector<std::pair<size_t, size_t>> found;
    for (const auto& [table, flows] : by_table_) {
      std::map<uint32_t, std::vector<const Flow*>> by_priority;
      for (const Flow* flow : flows) by_priority[flow->priority].push_back(flow);
      for (const auto& [priority, equals] : by_priority) Overlap(ShapesOf(equals), found);
    }
    std::ranges::sort(found);
    for (const auto& [older, younger] : found) Add(LintKind::kOverlap, older, younger);
  }

  void FindUnreachable(std::span<const v1::Table> tables) {
    std::bitset<kTables> go_on;
    for (const v1::Table& table : tables) go_on[table.id()] = table.miss_policy() == v1::MISS_POLICY_CONTINUE;
    std::bitset<kTables> reached = 1;
    // Packets only go forward.
    for (uint32_t table = 0; table < kTables; ++table) {
      if (!reached[table]) continue;
      if (go_on[table] && table + 1 < kTables) reached.set(table + 1);
      for (const Flow* flow : FlowsOf(table)) {
        if (!shadowed_[flow->index]) FollowGoto(specs_[flow->index], reached);
      }
    }
    for (const auto& [table, flows] : by_table_) {
      if (!reached[table]) Add(LintKind::kUnreachable, flows.front()->index, flows.front()->index);
    }
  }

  LintResult Take() { return std::move(result_); }

 private:
  // Notes the flows that those of `above` shadow.
  static void Shadow(const Shape& above, const Shapes& shapes, std::vector<const Flow*>& by) {
    const Projected projected = Project(above.flows, above.bits);
    for (const Shape& below : shapes) {
      if (!below.bits.Includes(above.bits)) continue;
      for (const Flow* flow : below.flows) {
        const auto candidates = projected.find(flow->match.ValuesOf(above.bits));
        if (candidates == projected.end()) continue;
        for (const Flow* candidate : candidates->second) {
          const Flow*& best = by[flow->index];
          if (Beats(*candidate, *flow) && candidate->match.RangesCover(flow->match) &&
              (best == nullptr || Beats(*candidate, *best))) {
            best = candidate;
          }
        }
      }
    }
  }

  void Overlap(const Shapes& shapes, std::vector<std::pair<size_t, size_t>>& found) {
    for (size_t a = 0; a < shapes.size(); ++a) {
      for (size_t b = a; b < shapes.size(); ++b) {
        const LintShape common = LintShape::Common(shapes[a].bits, shapes[b].bits);
        const Projected projected = Project(shapes[a].flows, common);
        for (const Flow* flow : shapes[b].flows) {
          const auto candidates = projected.find(flow->match.ValuesOf(common));
          if (candidates == projected.end()) continue;
          for (const Flow* other : candidates->second) {
            if (!Collide(*flow, *other, a == b)) continue;
            if (max_overlaps_ != 0 && found.size() == max_overlaps_) {
              result_.complete = false;
              return;
            }
            found.push_back(std::minmax(flow->index, other->index));
          }
        }
      }
    }
  }

  // Each pair once, and none of which one is never seen.
  bool Collide(const Flow& flow, const Flow& other, bool same_shape) const {
    if (flow.index == other.index || (same_shape && flow.index < other.index)) return false;
    return !shadowed_[flow.index] && !shadowed_[other.index] && flow.match.RangesMeet(other.match);
  }

  static void FollowGoto(const v1::FlowSpec& spec, std::bitset<kTables>& reached) {
    for (const v1::Action& action : spec.actions()) {
      if (action.has_goto_table() && action.goto_table().table_id() < kTables)
        reached.set(action.goto_table().table_id());
    }
  }

  std::span<const Flow* const> FlowsOf(uint32_t table) const {
    const auto found = by_table_.find(table);
    if (found == by_table_.end()) return {};
    return found->second;
  }

  void Add(LintKind kind, size_t flow, size_t other) {
    result_.findings.push_back({kind, flow, other, specs_[flow].table_id()});
  }

  std::span<const v1::FlowSpec> specs_;
  const size_t max_overlaps_;
  std::vector<Flow> flows_;
  std::map<uint32_t, std::vector<const Flow*>> by_table_;
  std::vector<bool> shadowed_;
  LintResult result_;
};

}  // namespace

const char* LintKindName(LintKind kind) {
  switch (kind) {
    case LintKind::kShadowed:
      return "shadowed";
    case LintKind::kOverlap:
      return "overlap";
    case LintKind::kUnreachable:
      return "unreachable";
  }
  return "?";
}

LintResult LintFlows(std::span<const v1::FlowSpec> flows, std::span<const v1::Table> tables, size_t max_overlaps) {
  Linter linter(flows, max_overlaps);
  linter.FindShadowed();
  linter.FindOverlaps();
  linter.FindUnreachable(tables);
  return linter.Take();
}

}  // namespace sluice::client
