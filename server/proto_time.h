// Points in time for messages. Pure; any thread.

#pragma once

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace sluice {

inline void TimeToProto(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounds towards the past
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

}  // namespace sluice
