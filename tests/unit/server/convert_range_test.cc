// Ranges in matches: which fields take one, in what form it comes back, and what
// is refused.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::BadRequestOf;
using ::testing::HasSubstr;
using testing::kIpv4;
using testing::kIpv6;
using testing::MatchBuilder;

// What comes back, and whether it means the same.
v1::Match CanonicalOf(const v1::Match& in) {
  ViolationList violations;
  Match match, again;
  v1::Match out;
  MatchFromProto(in, Path("match"), violations, match);
  MatchToProto(match, &out);
  MatchFromProto(out, Path("match"), violations, again);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus() << "\n" << in.DebugString();
  EXPECT_TRUE(match == again) << "what comes back must be the same flow";
  return out;
}

void ExpectBecomes(const v1::Match& in, const v1::Match& want) {
  const v1::Match got = CanonicalOf(in);
  EXPECT_TRUE(MessageDifferencer::Equals(got, want)) << "got " << got.DebugString() << "want " << want.DebugString();
}

// The place and the text of the one violation.
std::pair<std::string, std::string> ViolationOf(const v1::Match& in) {
  ViolationList violations;
  Match match;
  MatchFromProto(in, Path("match"), violations, match);
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const google::rpc::BadRequest details = BadRequestOf(status);
  if (details.field_violations_size() != 1) return {"", std::string(status.message())};
  return {details.field_violations(0).field(), details.field_violations(0).description()};
}

// The dataplane has ranges of these and of no others.
TEST(RangeTest, ThePortsOfThreeProtocolsTakeThem) {
  const std::map<v1::Field, uint64_t> ports = {{v1::FIELD_TCP_SRC, 6},    {v1::FIELD_TCP_DST, 6},
                                               {v1::FIELD_UDP_SRC, 17},   {v1::FIELD_UDP_DST, 17},
                                               {v1::FIELD_SCTP_SRC, 132}, {v1::FIELD_SCTP_DST, 132}};
  for (const FieldInfo& info : Fields()) {
    if (info.field == Field::kNone) continue;
    const auto port = ports.find(info.number);
    EXPECT_EQ(info.rangeable, port != ports.end()) << info.name;
    if (port != ports.end()) {
      const v1::Match in = MatchBuilder().Ip(kIpv6, port->second).Range(info.number, 5, 10).match();
      ExpectBecomes(in, in);
      continue;
    }
    const auto [field, text] = ViolationOf(MatchBuilder().Range(info.number, 5, 10).match());
    EXPECT_EQ(field, "match.fields[0].last");
    EXPECT_THAT(
        text, HasSubstr(info.name + " takes no range, only tcp_src, tcp_dst, udp_src, udp_dst, sctp_src, sctp_dst do"));
  }
}

TEST(RangeTest, WhatAMaskCanSayIsAMask) {
  const auto tcp = [] { return MatchBuilder().Ip(kIpv4, 6); };
  for (const auto& [first, last, mask] : {std::tuple{80, 80, 0xffff},
                                          {0, 0, 0xffff},
                                          {65535, 65535, 0xffff},
                                          {1024, 2047, 0xfc00},
                                          {32768, 65535, 0x8000},
                                          {6, 7, 0xfffe}}) {
    ExpectBecomes(
        tcp().Range(v1::FIELD_TCP_DST, first, last).match(),
        mask == 0xffff ? tcp().On(v1::FIELD_TCP_DST, first).match() : tcp().On(v1::FIELD_TCP_DST, first, mask).match());
  }
  for (const auto& [first, last] : {std::pair{1, 2}, {7, 8}, {0, 65534}, {1, 65535}, {1023, 2047}, {1024, 2048}}) {
    const v1::Match in = tcp().Range(v1::FIELD_TCP_DST, first, last).match();
    ExpectBecomes(in, in);
  }
}

TEST(RangeTest, TheOtherPortMayHaveAnything) {
  ExpectBecomes(MatchBuilder().Ip(kIpv4, 6).Range(v1::FIELD_TCP_DST, 1, 65535).Range(v1::FIELD_TCP_SRC, 1, 2).match(),
                MatchBuilder().Ip(kIpv4, 6).Range(v1::FIELD_TCP_SRC, 1, 2).Range(v1::FIELD_TCP_DST, 1, 65535).match());
  const v1::Match masked =
      MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_UDP_SRC, 0, 1).Range(v1::FIELD_UDP_DST, 5, 9).match();
  ExpectBecomes(masked, masked);
}

struct BadRange {
  const char* what;
  v1::Match in;
  const char* field;
  const char* text;
};

class BadRangeTest : public ::testing::TestWithParam<BadRange> {};

TEST_P(BadRangeTest, NamesTheFieldAndWhatWouldBeRight) {
  const auto [field, text] = ViolationOf(GetParam().in);
  EXPECT_EQ(field, GetParam().field);
  EXPECT_THAT(text, HasSubstr(GetParam().text));
}

v1::Match WithMask(v1::Match match, int field, uint64_t mask) {
  match.mutable_fields(field)->set_mask(mask);
  return match;
}

MatchBuilder Tcp() { return MatchBuilder().Ip(kIpv4, 6); }

const BadRange kBadRanges[] = {
    {"Backwards", Tcp().Range(v1::FIELD_TCP_DST, 5, 4).match(), "match.fields[2].last",
     "ends at 4 and begins above, at value 5"},
    {"BackwardsToZero", Tcp().Range(v1::FIELD_TCP_DST, 5, 0).match(), "match.fields[2].last", "ends at 0"},
    {"TooWide", Tcp().Range(v1::FIELD_TCP_DST, 5, 65536).match(), "match.fields[2].last",
     "65536 does not fit into the 16 bits of tcp_dst: 0 to 65535"},
    {"BeginsTooWide", Tcp().Range(v1::FIELD_TCP_DST, 65536, 65537).match(), "match.fields[2].value",
     "65536 does not fit into the 16 bits of tcp_dst: 0 to 65535"},
    {"OfAll", Tcp().Range(v1::FIELD_TCP_DST, 0, 65535).match(), "match.fields[2].last", "leave the field out"},
    {"WithMask", WithMask(Tcp().Range(v1::FIELD_TCP_DST, 4, 7).match(), 2, 0xffff), "match.fields[2].mask",
     "a range takes no mask"},
    {"WithMaskZero", WithMask(Tcp().Range(v1::FIELD_TCP_DST, 4, 7).match(), 2, 0), "match.fields[2].mask",
     "a range takes no mask"},
    {"Twice", Tcp().Range(v1::FIELD_TCP_DST, 4, 8).Range(v1::FIELD_TCP_DST, 4, 9).match(), "match.fields[3].field",
     "tcp_dst is given twice"},
    {"WithoutTcp", MatchBuilder().EthType(kIpv4).Range(v1::FIELD_TCP_DST, 1, 5).match(), "match.fields[1].field",
     "tcp_dst needs"},
    {"OfLaterFragment", MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_IP_FRAG, 3).Range(v1::FIELD_UDP_DST, 53, 60).match(),
     "match.fields[3].field", "ip_frag=later"},
};
INSTANTIATE_TEST_SUITE_P(Ranges, BadRangeTest, ::testing::ValuesIn(kBadRanges),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(RangeTest, InAMaskARangedPortHasAllValues) {
  ViolationList violations;
  Match match;
  MatchFromProto(MatchBuilder().Ip(kIpv4, 17).Range(v1::FIELD_UDP_DST, 5, 9).match(), Path("match"), violations, match);
  v1::Match out;
  MaskToProto(match.mask, &out);
  const v1::Match want = MatchBuilder()
                             .On(v1::FIELD_ETH_TYPE, 0xffff, 0xffff)
                             .On(v1::FIELD_IP_PROTO, 0xff, 0xff)
                             .Range(v1::FIELD_TCP_DST, 0, 65535)
                             .match();
  EXPECT_TRUE(MessageDifferencer::Equals(out, want)) << out.DebugString();
}

}  // namespace
}  // namespace sluice
