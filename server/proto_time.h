// Points in time and durations for messages. Pure; any thread.

#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace sluice {

inline void TimeToProto(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounds towards the past
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

inline void DurationToProto(absl::Duration duration, google::protobuf::Duration* out) {
  absl::Duration rest;
  out->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

}  // namespace sluice
