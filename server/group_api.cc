#include "server/group_api.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/quote.h"

namespace sluice {
namespace {

constexpr uint32_t kMostGroups = 1000;               // in a page
constexpr size_t kGroupPageBytes = size_t{1} << 20;  // before the last group; a reply has 4 MiB at most

template <typename Response>
absl::Status ReplyGroup(const absl::StatusOr<GroupInfo>& group, Response* response) {
  if (group.ok()) GroupToProto(*group, response->mutable_group());
  return group.status();
}

// The id behind which the page begins.
absl::Status GroupTokenFromProto(const std::string& token, uint32_t& after) {
  if (token.empty() || absl::SimpleAtoi(token, &after)) return absl::OkStatus();
  ViolationList violations;
  violations.Add(Path("page_token"), absl::StrCat(Quoted(token), " is no next_page_token of ListGroups"));
  return violations.ToStatus();
}

}  // namespace

absl::Status GroupApi::CreateGroup(const v1::CreateGroupRequest& request, v1::CreateGroupResponse* response) {
  ViolationList violations;
  GroupSpec spec;
  GroupSpecFromProto(request.group(), limits_, Path("group"), violations, spec);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyGroup(groups_.Create(spec), response);
}

absl::Status GroupApi::GetGroup(const v1::GetGroupRequest& request, v1::GetGroupResponse* response) {
  ViolationList violations;
  GroupIdFromProto(request.group_id(), Path("group_id"), violations);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyGroup(groups_.Get(request.group_id()), response);
}

absl::Status GroupApi::UpdateGroup(const v1::UpdateGroupRequest& request, v1::UpdateGroupResponse* response) {
  ViolationList violations;
  GroupSpec spec;
  GroupSpecFromProto(request.group(), limits_, Path("group"), violations, spec);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyGroup(groups_.Update(spec, request.allow_missing()), response);
}

absl::Status GroupApi::DeleteGroup(const v1::DeleteGroupRequest& request, v1::DeleteGroupResponse* response) {
  ViolationList violations;
  GroupIdFromProto(request.group_id(), Path("group_id"), violations);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyGroup(groups_.Delete(request.group_id()), response);
}

absl::Status GroupApi::ListGroups(const v1::ListGroupsRequest& request, v1::ListGroupsResponse* response) {
  uint32_t after = 0;
  if (absl::Status status = GroupTokenFromProto(request.page_token(), after); !status.ok()) return status;
  const uint32_t most = request.page_size() == 0 ? kMostGroups : std::min(request.page_size(), kMostGroups);
  // One more tells whether there is another page.
  const std::vector<GroupInfo> groups = groups_.List(after, most + 1);
  size_t bytes = 0;
  for (const GroupInfo& group : groups) {
    if (response->groups_size() == static_cast<int>(most) || bytes > kGroupPageBytes) {
      response->set_next_page_token(absl::StrCat(response->groups().rbegin()->spec().group_id()));
      break;
    }
    GroupToProto(group, response->add_groups());
    bytes += response->groups().rbegin()->ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace sluice
