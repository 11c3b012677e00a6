// The match of a flow, read key by key in any order and put together at the end,
// since what nw_src or tp_dst mean depends on the protocol that another key names.
//
// Stricter than ovs-ofctl on purpose: a condition whose prerequisite is missing
// is an error (there it silently falls away), and so are two different
// conditions on one field (there the last wins).
//
// One thread.

#pragma once

#include <functional>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/field_table.h"
#include "client/flow_text_lexer.h"
#include "client/flow_words.h"

namespace sluice::client {

// The number of the port that has this name, if there is one.
using PortNames = std::function<std::optional<uint32_t>(absl::string_view name)>;

// An error and the column where it is.
struct TextError {
  int column = 0;
  std::string text;  // "what; what was expected"; empty: no error
  explicit operator bool() const { return !text.empty(); }
};

struct TextOptions;
// The error as a status, with where the text stood.
absl::Status AtPlace(const TextOptions& options, const TextError& error);

// A port's number, or its name, which may stand in quotes.
absl::StatusOr<uint32_t> ParsePort(absl::string_view what, absl::string_view text, const PortNames& port_names);

class MatchParser {
 public:
  explicit MatchParser(const PortNames* port_names) : port_names_(port_names) {}

  // Takes a key that is about the match: kField to kVlanPresent.
  TextError Add(const KeyWord& word, const Token& token);

  // Settles what depends on other keys, checks prerequisites, and writes the
  // match in the order and form in which the switch returns it.
  TextError Finish(v1::Match& out);

  // After Finish: what the match says about its packets, for actions.
  bool Meets(v1::Prerequisite prerequisite) const;
  int eth_type() const { return eth_type_; }  // -1: says nothing
  int ip_proto() const { return ip_proto_; }  // -1: says nothing

 private:
  struct Term {
    const FieldInfo* field;
    ValueMask vm;
    absl::string_view key;
    int column;
  };
  struct Deferred {
    KeyKind kind;
    Token token;
  };

  TextError AddShorthand(const KeyWord& word, const Token& token);
  TextError AddField(const FieldInfo& field, const Token& token);
  TextError AddTos(const Token& token);
  TextError AddTerm(const FieldInfo& field, const ValueMask& vm, const Token& token);
  // What was said about a VLAN tag, as vlan_tci.
  struct TagTerm {
    const char* name;
    ValueMask tci = {};
    Token token = {};  // of the last condition

    bool present() const;
    bool absent() const;
  };

  TextError AddVlan(KeyKind kind, const Token& token);
  TextError AddInnerVlan(const FieldInfo& field, const Token& token);
  static TextError MergeVlan(TagTerm& tag, const ValueMask& vm, const Token& token);
  TextError SettleTags();
  void EmitVlan(const TagTerm& tag, v1::Field present);
  TextError Resolve(const Deferred& deferred);
  v1::Field FieldFor(KeyKind kind) const;
  int ExactValue(v1::Field field) const;
  TextError CheckTerm(const Term& term) const;

  const PortNames* port_names_;
  absl::InlinedVector<Term, 12> terms_;
  absl::InlinedVector<Deferred, 4> deferred_;
  TagTerm outer_{.name = "vlan_tci"};
  TagTerm inner_{.name = "inner_vlan_tci"};
  int eth_type_ = -1;
  int ip_proto_ = -1;
  int icmpv6_type_ = -1;
  int icmpv6_code_ = -1;
  bool later_fragments_ = false;
};

// "an IPv4 flow; write ip (dl_type=0x0800) too", as what a prerequisite needs.
std::string PrerequisiteText(v1::Prerequisite prerequisite);

}  // namespace sluice::client
