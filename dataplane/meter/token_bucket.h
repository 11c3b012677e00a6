// A token bucket that many workers draw from, in chunks.
//
// The state is one instant: when the bucket was, or would have been, empty. What
// flowed in since is what it holds, up to its burst; taking tokens moves the
// instant on (the virtual scheduling form of the generic cell rate algorithm,
// ITU-T I.371, annex A). So nothing has to be filled, and one compare-exchange
// takes any number of tokens.
//
// That is the one line that workers share. A worker writes it once a chunk and
// keeps the chunk to itself (TokenShare): a millisecond's worth of the rate, but at
// most a share of the burst, such that all chunks together are no more than half
// of it. What a worker has not used when the bucket would have filled up since is
// worth nothing, since a full bucket would have let it run over. While the bucket
// is empty a worker looks at it no more until there can be enough again.
//
// Time is an argument in nanoseconds of a clock that all workers agree on. Any
// number of threads; a TokenShare belongs to one.

#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

// What one worker has taken and not used.
struct TokenShare {
  uint64_t tokens = 0;
  uint64_t drawn_ns = 0;  // when
  uint64_t refused = 0;   // so many tokens were not there; 0: none were asked for in vain
  uint64_t retry_ns = 0;  // when they can be
};

class alignas(64) TokenBucket {  // workers write it, and nothing beside it
 public:
  // Tokens a second (at least 1), and how many it holds (at least 1). Full at first.
  TokenBucket(uint64_t rate, uint64_t burst, unsigned workers);

  // True if that many tokens were there and are taken.
  bool Take(TokenShare& share, uint64_t now_ns, uint64_t tokens);

 private:
  // At least `least` tokens, `most` if they are there; 0: too few, and *ready_ns says when there may be enough.
  uint64_t Draw(uint64_t now_ns, uint64_t least, uint64_t most, uint64_t* ready_ns);
  int64_t TimeFor(uint64_t tokens) const;

  const uint64_t rate_;
  const uint64_t chunk_;
  const int64_t fill_time_;        // of an empty bucket; as empty_at_
  std::atomic<int64_t> empty_at_;  // sixteenths of nanoseconds: exact enough for any rate, and lasts for 18 years
};

}  // namespace sluice
