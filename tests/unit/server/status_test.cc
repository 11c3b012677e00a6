// Errors keep their code, text and details, and never outgrow gRPC's metadata.

#include "server/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/violations.h"

namespace sluice {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

google::rpc::BadRequest BadRequestOf(const google::rpc::Status& status) {
  google::rpc::BadRequest details;
  EXPECT_EQ(status.details_size(), 1);
  if (status.details_size() == 1) EXPECT_TRUE(status.details(0).UnpackTo(&details));
  return details;
}

TEST(PathTest, NamesThePlace) {
  const Path items("items", 3);
  const Path match(items, "match");
  EXPECT_EQ(Path(match, "fields", 12).ToString(), "items[3].match.fields[12]");
  EXPECT_EQ(Path(nullptr, "flow").ToString(), "flow");
}

TEST(ViolationListTest, NoneIsOk) {
  EXPECT_TRUE(ViolationList().ToStatus().ok());
  EXPECT_TRUE(ViolationList().empty());
}

TEST(ViolationListTest, AllAreListedAndTheFirstIsTheText) {
  ViolationList violations;
  violations.Add(Path("a"), "one");
  violations.Add(Path("b", 2), "two");
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "a: one (and 1 more)");
  const google::rpc::BadRequest details = BadRequestOf(ToRpcStatus(status));
  ASSERT_EQ(details.field_violations_size(), 2);
  EXPECT_EQ(details.field_violations(0).field(), "a");
  EXPECT_EQ(details.field_violations(0).description(), "one");
  EXPECT_EQ(details.field_violations(1).field(), "b[2]");
  EXPECT_EQ(details.field_violations(1).description(), "two");
}

TEST(ViolationListTest, TheGravestKindGivesTheCode) {
  using Kind = ViolationList::Kind;
  ViolationList violations;
  violations.Add(Path("a"), "later", Kind::kUnimplemented);
  EXPECT_EQ(violations.ToStatus().code(), absl::StatusCode::kUnimplemented);
  violations.Add(Path("a"), "many", Kind::kLimit);
  EXPECT_EQ(violations.ToStatus().code(), absl::StatusCode::kResourceExhausted);
  violations.Add(Path("a"), "wrong");
  EXPECT_EQ(violations.ToStatus().code(), absl::StatusCode::kInvalidArgument);
  violations.Add(Path("a"), "later", Kind::kUnimplemented);
  EXPECT_EQ(violations.ToStatus().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ViolationListTest, VeryManyAreCountedAndTheFirstOnesListed) {
  ViolationList violations;
  for (int i = 0; i < 100'000; ++i) violations.Add(Path("fields", i), "each is wrong in its own way");
  const absl::Status status = violations.ToStatus();
  EXPECT_THAT(std::string(status.message()), EndsWith("(and 99999 more)"));
  const WireStatus wire = ToWireStatus(status);
  google::rpc::Status rpc;
  ASSERT_TRUE(rpc.ParseFromString(wire.details));
  const google::rpc::BadRequest details = BadRequestOf(rpc);
  EXPECT_GT(details.field_violations_size(), 20);
  EXPECT_EQ(details.field_violations(0).field(), "fields[0]");
  EXPECT_LE(wire.details.size(), kMaxDetailBytes);
}

TEST(WireStatusTest, OkIsEmpty) {
  const WireStatus wire = ToWireStatus(absl::OkStatus());
  EXPECT_EQ(wire.code, 0);
  EXPECT_EQ(wire.message, "");
  EXPECT_EQ(wire.details, "");
}

TEST(WireStatusTest, EveryCodeStaysItself) {
  for (int code = 1; code <= 16; ++code) {
    const WireStatus wire = ToWireStatus(absl::Status(static_cast<absl::StatusCode>(code), "text"));
    EXPECT_EQ(wire.code, code);
    EXPECT_EQ(wire.message, "text");
    EXPECT_EQ(wire.details, "") << "no details were added";
  }
}

TEST(WireStatusTest, DetailsRepeatCodeAndText) {
  absl::Status status = absl::AlreadyExistsError("in the way");
  google::rpc::ResourceInfo info;
  info.set_resource_name("17");
  AddDetail(status, info);
  google::rpc::Status rpc;
  ASSERT_TRUE(rpc.ParseFromString(ToWireStatus(status).details));
  EXPECT_EQ(rpc.code(), 6);
  EXPECT_EQ(rpc.message(), "in the way");
  ASSERT_EQ(rpc.details_size(), 1);
  EXPECT_EQ(rpc.details(0).type_url(), "type.googleapis.com/google.rpc.ResourceInfo");
  google::rpc::ResourceInfo read;
  ASSERT_TRUE(rpc.details(0).UnpackTo(&read));
  EXPECT_EQ(read.resource_name(), "17");
}

TEST(WireStatusTest, LongTextIsCutBetweenCharacters) {
  std::string text;
  while (text.size() < 2 * kMaxMessageBytes) text += "\xe2\x82\xac";  // a character of three bytes
  const WireStatus wire = ToWireStatus(absl::InternalError(text));
  EXPECT_LE(wire.message.size(), kMaxMessageBytes);
  EXPECT_THAT(wire.message, EndsWith("\xe2\x82\xac..."));
  EXPECT_EQ((wire.message.size() - 3) % 3, 0u);
}

TEST(WireStatusTest, DetailsThatAreTooLongAreLeftOut) {
  absl::Status status = absl::InternalError("text");
  google::rpc::ResourceInfo info;
  info.set_resource_name(std::string(2 * kMaxDetailBytes, 'x'));
  AddDetail(status, info);
  EXPECT_EQ(ToWireStatus(status).details, "");
  EXPECT_EQ(ToWireStatus(status).message, "text");
}

}  // namespace
}  // namespace sluice
