#include "dataplane/classifier/interest.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

bool LooksBeyondLink(const Match& match) { return Interest(match.mask, false, HashKey{}).beyond_link; }

TEST(InterestTest, OnlyWhatIsBehindTheEtherTypeOrTheOuterTagNeedsTheDeepParser) {
  const std::set<Field> shallow = {Field::kInPort,      Field::kEthDst,  Field::kEthSrc,  Field::kEthType,
                                   Field::kVlanPresent, Field::kVlanVid, Field::kVlanPcp, Field::kVlanTci};
  for (int i = 1; i < kFieldCount; ++i) {
    const Field field = static_cast<Field>(i);
    EXPECT_EQ(LooksBeyondLink(MatchOf({{field, 0}})), !shallow.contains(field) && !IsPipelineField(field)) << i;
  }
  EXPECT_FALSE(LooksBeyondLink({}));
  EXPECT_TRUE(Interest({}, true, HashKey{}).beyond_link) << "rewriting needs to know where headers are";
}

TEST(InterestTest, AFingerprintSaysWhatIsLookedAtAndNothingElse) {
  const HashKey hash_key = HashKey::Random();
  const Match match = MatchOf({{Field::kEthType, 0}, {Field::kReg3, 0}, {Field::kInnerVlanVid, 0}});
  const Interest interest(match.mask, false, hash_key);
  const PacketKey key = KeyOf({{Field::kEthType, 0x0800}, {Field::kReg3, 7}, {Field::kInnerVlanVid, 5}});
  for (int i = 1; i < kFieldCount; ++i) {
    const Field field = static_cast<Field>(i);
    PacketKey other = key;
    PutField(other, field, ~GetField(key, field));
    bool looked_at = false;
    for (size_t w = 0; w < kKeyWords; ++w) {
      looked_at = looked_at || ((WordOf(key, w) ^ WordOf(other, w)) & WordOf(match.mask, w)) != 0;
    }
    EXPECT_EQ(interest.FingerprintOf(other, 0) != interest.FingerprintOf(key, 0), looked_at) << i;
  }
}

}  // namespace
}  // namespace sluice
