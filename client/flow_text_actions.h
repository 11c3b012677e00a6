// The actions of a flow: ovs-ofctl's words for those that this switch has.
//
// mod_vlan_vid and mod_vlan_pcp tag an untagged packet first, as OpenFlow 1.0
// says; set_vlan_vid, set_vlan_pcp and set_field do not. After push_mpls and
// pop_mpls the switch alone says what else may be written.
//
// flow_text_actions.cc reads outputs and what is done to headers,
// flow_text_pipeline.cc tables, groups, meters and copies between fields. One thread.

#pragma once

#include "absl/strings/string_view.h"
#include "client/flow_text_lexer.h"
#include "client/flow_text_match.h"
#include "client/flow_words.h"

namespace sluice::client {

class ActionParser {
 public:
  // `match` has been finished.
  ActionParser(const MatchParser& match, const PortNames* port_names,
               google::protobuf::RepeatedPtrField<v1::Action>& out)
      : match_(match), port_names_(port_names), out_(out) {}

  // Of the packet nothing is known: every action may stand, and does what it can.
  void KnowNothing() { pushed_ = changes_type_ = any_packet_ = true; }
  // Reads all actions that the lexer gives.
  TextError Parse(Lexer lexer);

 private:
  TextError ParseOne(const Token& token);
  TextError ParseWord(const ActionWord& word, const Token& token);
  TextError ParseBare(ActionKind kind, const Token& token);
  TextError Output(absl::string_view port, int column);
  TextError Set(const FieldInfo& field, const Token& token);
  TextError SetTos(const Token& token);
  TextError SetPort(bool source, const Token& token);
  TextError SetField(const Token& token);
  TextError SetNamedField(const FieldInfo& field, const Token& value);
  TextError SetVlanVid(const Token& value);
  TextError PushVlan(const Token& token);
  TextError AddSet(const FieldInfo& field, const ValueMask& vm, const Token& token);
  void AddPush(uint32_t tpid, bool only_if_untagged);
  bool Meets(v1::Prerequisite prerequisite) const;
  TextError ParsePipelineWord(ActionKind kind, const Token& token);
  TextError Number(const Token& token, uint64_t min, uint64_t max, const char* what, uint32_t& out) const;
  TextError Mpls(const Token& token, bool push);
  TextError SetMetadata(const Token& token);
  TextError Nested(const Token& token, google::protobuf::RepeatedPtrField<v1::Action>& out);
  TextError Controller(const Token& token);
  TextError ControllerOption(const Token& option, v1::ControllerAction& out) const;
  TextError MaxLen(const Token& token, v1::ControllerAction& out) const;
  TextError Load(const Token& token);
  TextError Move(const Token& token);
  struct Slice {
    const FieldInfo* field = nullptr;
    uint32_t first = 0;
    uint32_t bits = 0;
  };
  TextError ParseSlice(absl::string_view text, int column, Slice& out) const;
  TextError ParseDestination(absl::string_view text, int column, const char* action, Slice& out) const;
  TextError OutputField(absl::string_view text, int column);
  const FieldInfo* Destination(const KeyWord& word) const;
  TextError NoDestination(const KeyWord* word, const Token& token) const;

  const MatchParser& match_;
  const PortNames* port_names_;
  google::protobuf::RepeatedPtrField<v1::Action>& out_;
  bool any_packet_ = false;    // nothing is known of it
  bool pushed_ = false;        // an action so far makes sure of a VLAN tag
  bool changes_type_ = false;  // an action so far changes what is behind the tags
};

}  // namespace sluice::client
