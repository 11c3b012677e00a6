#include "server/meter_api.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/quote.h"

namespace sluice {
namespace {

constexpr uint32_t kMostMeters = 1000;               // in a page
constexpr size_t kMeterPageBytes = size_t{2} << 20;  // a reply has 4 MiB at most

template <typename Response>
absl::Status ReplyMeter(const absl::StatusOr<MeterInfo>& meter, Response* response) {
  if (meter.ok()) MeterToProto(*meter, response->mutable_meter());
  return meter.status();
}

// The id behind which the page begins.
absl::Status MeterTokenFromProto(const std::string& token, uint32_t& after) {
  if (token.empty() || absl::SimpleAtoi(token, &after)) return absl::OkStatus();
  ViolationList violations;
  violations.Add(Path("page_token"), absl::StrCat(Quoted(token), " is no next_page_token of ListMeters"));
  return violations.ToStatus();
}

}  // namespace

absl::Status MeterApi::CreateMeter(const v1::CreateMeterRequest& request, v1::CreateMeterResponse* response) {
  ViolationList violations;
  MeterSpec spec;
  MeterSpecFromProto(request.meter(), Path("meter"), violations, spec);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyMeter(meters_.Create(spec), response);
}

absl::Status MeterApi::GetMeter(const v1::GetMeterRequest& request, v1::GetMeterResponse* response) {
  ViolationList violations;
  MeterIdFromProto(request.meter_id(), Path("meter_id"), violations);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyMeter(meters_.Get(request.meter_id()), response);
}

absl::Status MeterApi::UpdateMeter(const v1::UpdateMeterRequest& request, v1::UpdateMeterResponse* response) {
  ViolationList violations;
  MeterSpec spec;
  MeterSpecFromProto(request.meter(), Path("meter"), violations, spec);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyMeter(meters_.Update(spec, request.allow_missing()), response);
}

absl::Status MeterApi::DeleteMeter(const v1::DeleteMeterRequest& request, v1::DeleteMeterResponse* response) {
  ViolationList violations;
  MeterIdFromProto(request.meter_id(), Path("meter_id"), violations);
  if (!violations.empty()) return violations.ToStatus();
  return ReplyMeter(meters_.Delete(request.meter_id()), response);
}

absl::Status MeterApi::ListMeters(const v1::ListMetersRequest& request, v1::ListMetersResponse* response) {
  uint32_t after = 0;
  if (absl::Status status = MeterTokenFromProto(request.page_token(), after); !status.ok()) return status;
  const uint32_t most = request.page_size() == 0 ? kMostMeters : std::min(request.page_size(), kMostMeters);
  // One more tells whether there is another page.
  const std::vector<MeterInfo> meters = meters_.List(after, most + 1);
  size_t bytes = 0;
  for (const MeterInfo& meter : meters) {
    if (response->meters_size() == static_cast<int>(most) || bytes > kMeterPageBytes) {
      response->set_next_page_token(absl::StrCat(response->meters().rbegin()->spec().meter_id()));
      break;
    }
    MeterToProto(meter, response->add_meters());
    bytes += response->meters().rbegin()->ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace sluice
