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

void ControllerToProto(const Action& action, v1::ControllerAction* out) {
  out->set_max_len(action.port);
  if (action.reason != PuntReason::kAction) out->set_reason(PacketReasonToProto(action.reason));
}

void OutputToProto(const Action& action, v1::OutputAction* out) {
  switch (action.type) {
    case ActionType::kOutputInPort:
      return out->set_reserved(v1::RESERVED_PORT_IN_PORT);
    case ActionType::kOutputAll:
      return out->set_reserved(v1::RESERVED_PORT_ALL);
    case ActionType::kOutputFlood:
      return out->set_reserved(v1::RESERVED_PORT_FLOOD);
    case ActionType::kOutputNormal:
      return out->set_reserved(v1::RESERVED_PORT_NORMAL);
    default:
      return out->set_port(action.port);
  }
}

// What changes a header.
void ChangeToProto(const Action& action, v1::Action* out) {
  switch (action.type) {
    case ActionType::kSetField:
      return FieldBitsToProto(Fields()[static_cast<size_t>(action.field)], {action.value, action.mask}, false,
                              out->mutable_set_field());
    case ActionType::kMoveField:
      return MoveToProto(action, out->mutable_move_field());
    case ActionType::kPushVlan:
      out->mutable_push_vlan()->set_tpid(action.tpid);
      return out->mutable_push_vlan()->set_only_if_untagged(action.only_if_untagged);
    case ActionType::kPopVlan:
      out->mutable_pop_vlan();
      return;
    case ActionType::kPushMpls:
      return out->mutable_push_mpls()->set_eth_type(action.tpid);
    case ActionType::kPopMpls:
      return out->mutable_pop_mpls()->set_eth_type(action.tpid);
    case ActionType::kDecTtl:
      out->mutable_dec_ttl();
      return;
    default:
      out->mutable_dec_mpls_ttl();
  }
}

void ActionToProto(const Action& action, v1::Action* out) {
  switch (action.type) {
    case ActionType::kOutput:
    case ActionType::kOutputInPort:
    case ActionType::kOutputAll:
    case ActionType::kOutputFlood:
    case ActionType::kOutputNormal:
      return OutputToProto(action, out->mutable_output());
    case ActionType::kOutputField:
      return OutputFieldToProto(action, out->mutable_output_field());
    case ActionType::kSetField:
    case ActionType::kMoveField:
    case ActionType::kPushVlan:
    case ActionType::kPopVlan:
    case ActionType::kPushMpls:
    case ActionType::kPopMpls:
    case ActionType::kDecTtl:
    case ActionType::kDecMplsTtl:
      return ChangeToProto(action, out);
    case ActionType::kGroup:
      return out->mutable_group()->set_group_id(action.port);
    case ActionType::kMeter:
      return out->mutable_meter()->set_meter_id(action.port);
    case ActionType::kController:
      return ControllerToProto(action, out->mutable_controller());
    case ActionType::kClearActions:
      out->mutable_clear_actions();
      return;
    case ActionType::kGotoTable:
      return out->mutable_goto_table()->set_table_id(action.port);
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
