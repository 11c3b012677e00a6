// However much is wrong in however many items, the answer arrives.

#include "server/batch_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dataplane/worker/reclaimer.h"
#include "server/flow_api.h"
#include "server/status.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

constexpr int kItems = 50'000;  // the most that may be configured

// Errors fit into gRPC's metadata and replies below 4 MiB.
TEST(BatchReplyTest, ManyLongErrorsAreShortened) {
  Reclaimer reclaimer(1);
  FlowTable flows(1, {}, reclaimer);
  FlowApi api(flows, ApiLimits{.batch_items = kItems});
  v1::BatchWriteRequest batch;
  for (int i = 0; i < kItems; ++i) {
    v1::FlowSpec& flow = *batch.add_items()->mutable_create()->mutable_flow();
    for (int j = 0; j < 8; ++j) flow.mutable_match()->add_fields()->set_field(static_cast<v1::Field>(1000 + j));
  }
  v1::BatchWriteResponse response;
  absl::Status status;
  api.BatchWrite(batch, &response, [&status](const absl::Status& s) { status = s; });
  EXPECT_TRUE(status.ok());
  EXPECT_LT(response.ByteSizeLong(), size_t{4} << 20);
  EXPECT_EQ(response.results_size(), kItems);
  EXPECT_EQ(response.failed_count(), static_cast<uint32_t>(kItems));
  EXPECT_EQ(response.results(0).error().details_size(), 1);
  EXPECT_EQ(response.results(kItems - 1).error().code(), 3);

  batch.set_mode(v1::BATCH_MODE_ALL_OR_NOTHING);
  api.BatchWrite(batch, &response, [&status](const absl::Status& s) { status = s; });
  const WireStatus wire = ToWireStatus(status);
  EXPECT_GT(wire.details.size(), 1000u) << "as many items as fit are listed";
  EXPECT_LE(wire.details.size(), kMaxDetailBytes);
  EXPECT_THAT(wire.message, HasSubstr("50000 of 50000 items failed: 0, 1, 2"));
}

// The longest results that succeed: deletes with counters that are nearly full.
TEST(BatchReplyTest, ManySuccessesFit) {
  v1::BatchWriteRequest batch;
  std::vector<FlowChangeResult> results(kItems);
  for (FlowChangeResult& result : results) {
    batch.add_items()->mutable_delete_();
    result.flow.id = ~uint64_t{0};
    result.flow.stats = {~uint64_t{0}, ~uint64_t{0}, absl::FromUnixNanos(4'000'000'000'999'999'999)};
  }
  v1::BatchWriteResponse response;
  ASSERT_TRUE(BatchReply(batch, BatchMode::kAllOrNothing, results, &response).ok());
  EXPECT_EQ(response.results_size(), kItems);
  EXPECT_EQ(response.results(7).stats().packets(), ~uint64_t{0});
  EXPECT_LT(response.ByteSizeLong(), size_t{4} << 20);
}

}  // namespace
}  // namespace sluice
