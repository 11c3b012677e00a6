// Actions as messages: what convert_action.cc reads to the identical list.

#include "server/convert.h"
#include "server/convert_field.h"

namespace sluice {
namespace {

v1::Field NumberOf(Field field) { return Fields()[static_cast<size_t>(field)].number; }

void OutputFieldToProto(const Action& action, v1::OutputFieldAction* out) {
  out->set_field(NumberOf(action.field));
  out->set_bit(action.source_bit);
  out->set_bits(action.bits);
}

void MoveToProto(const Action& action, v1::MoveFieldAction* out) {
  out->set_source(NumberOf(action.field));
  out->set_destination(NumberOf(action.destination));
  out->set_source_bit(action.source_bit);
  out->set_destination_bit(action.destination_bit);
  out->set_bits(action.bits);
}

void ActionToProto(const Action& action, v1::Action* out) {
  switch (action.type) {
    case ActionType::kOutput:
      out->mutable_output()->set_port(action.port);
      return;
    case ActionType::kOutputInPort:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_IN_PORT);
      return;
    case ActionType::kOutputAll:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_ALL);
      return;
    case ActionType::kOutputFlood:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_FLOOD);
      return;
    case ActionType::kOutputNormal:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_NORMAL);
      return;
    case ActionType::kOutputField:
      return OutputFieldToProto(action, out->mutable_output_field());
    case ActionType::kMoveField:
      return MoveToProto(action, out->mutable_move_field());
    case ActionType::kPushMpls:
      out->mutable_push_mpls()->set_eth_type(action.tpid);
      return;
    case ActionType::kPopMpls:
      out->mutable_pop_mpls()->set_eth_type(action.tpid);
      return;
    case ActionType::kDecMplsTtl:
      out->mutable_dec_mpls_ttl();
      return;
    case ActionType::kGroup:
      out->mutable_group()->set_group_id(action.port);
      return;
    case ActionType::kMeter:
      out->mutable_meter()->set_meter_id(action.port);
      return;
    case ActionType::kController:
      out->mutable_controller()->set_max_len(action.port);
      return;
    case ActionType::kClearActions:
      out->mutable_clear_actions();
      return;
    case ActionType::kGotoTable:
      out->mutable_goto_table()->set_table_id(action.port);
      return;
    case ActionType::kSetField:
      FieldBitsToProto(Fields()[static_cast<int>(action.field)], {action.value, action.mask}, false,
                       out->mutable_set_field());
      return;
    case ActionType::kPushVlan:
      out->mutable_push_vlan()->set_tpid(action.tpid);
      out->mutable_push_vlan()->set_only_if_untagged(action.only_if_untagged);
      return;
    case ActionType::kPopVlan:
      out->mutable_pop_vlan();
      return;
    case ActionType::kDecTtl:
      out->mutable_dec_ttl();
      return;
  }
}

}  // namespace

void ActionsToProto(const ActionList& actions, ProtoActions* out) {
  out->Reserve(static_cast<int>(actions.size()));
  v1::WriteActionsAction* set = nullptr;
  for (const Action& action : actions) {
    if (!action.deferred) {
      set = nullptr;
      ActionToProto(action, out->Add());
      continue;
    }
    if (set == nullptr) set = out->Add()->mutable_write_actions();
    ActionToProto(action, set->add_actions());
  }
}

}  // namespace sluice
