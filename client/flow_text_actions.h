// The actions of a flow: ovs-ofctl's words for those that this switch has.
//
// mod_vlan_vid and mod_vlan_pcp tag an untagged packet first, as OpenFlow 1.0
// says; set_vlan_vid, set_vlan_pcp and set_field do not. One thread.

#pragma once

#include "absl/strings/string_view.h"
#include "client/flow_text_lexer.h"
#include "client/flow_text_match.h"
#include "client/flow_words.h"

namespace sluice::client {

class ActionParser {
 public:
  // `match` has been finished.
  ActionParser(const MatchParser& match, const PortNames* port_names, v1::FlowSpec& out)
      : match_(match), port_names_(port_names), out_(out) {}

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
  const FieldInfo* Destination(const KeyWord& word) const;
  TextError NoDestination(const KeyWord* word, const Token& token) const;

  const MatchParser& match_;
  const PortNames* port_names_;
  v1::FlowSpec& out_;
  bool pushed_ = false;  // an action so far makes sure of a VLAN tag
};

}  // namespace sluice::client
