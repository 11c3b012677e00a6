#include "dataplane/classifier/subtable.h"

#include <algorithm>
#include <bit>
#include <new>

#include "dataplane/classifier/classifier.h"

namespace sluice {
namespace {

constexpr uint64_t kEachByte = 0x0101010101010101;
constexpr uint64_t kTopBitOfSlots = 0x0080808080808080;
constexpr uint64_t kOverflowOne = uint64_t{1} << Bucket::kOverflowShift;
constexpr uint64_t kOverflowMax = uint64_t{255} << Bucket::kOverflowShift;

// Never zero, and of bits that do not choose the bucket.
uint64_t TagOf(uint64_t hash) { return hash >> 57 | 0x80; }

// The top bit of each slot's byte that equals the tag. It may also name a slot
// above such a one that differs in the lowest bit, but never a free slot; keys
// are verified anyway.
uint64_t SlotsWithTag(uint64_t tags, uint64_t tag) {
  const uint64_t difference = tags ^ (tag * kEachByte);
  return (difference - kEachByte) & ~difference & kTopBitOfSlots;
}

unsigned FirstSlot(uint64_t slots) { return static_cast<unsigned>(std::countr_zero(slots)) / 8; }

bool Overflowed(uint64_t tags) { return tags >> Bucket::kOverflowShift != 0; }

// The slot that was free and now has the chain, if there was one.
bool PutInto(Bucket& bucket, uint64_t tag, ClassifierEntry* head) {
  const uint64_t tags = bucket.tags.load(std::memory_order_relaxed);
  const uint64_t free = ~tags & kTopBitOfSlots;
  if (free == 0) return false;
  const unsigned slot = FirstSlot(free);
  bucket.heads[slot].store(head, std::memory_order_release);
  bucket.tags.store(tags | tag << (8 * slot), std::memory_order_release);
  return true;
}

void PutHead(BucketArray& array, uint64_t hash, ClassifierEntry* head) {
  for (uint64_t i = hash & array.last; !PutInto(array[i], TagOf(hash), head); i = (i + 1) & array.last) {
    const uint64_t tags = array[i].tags.load(std::memory_order_relaxed);
    if (tags < kOverflowMax) array[i].tags.store(tags + kOverflowOne, std::memory_order_release);
  }
}

bool Crowded(uint64_t chains, uint64_t bucket_count) { return 4 * chains > 3 * Bucket::kSlots * bucket_count; }
bool Sparse(uint64_t chains, uint64_t bucket_count) { return 8 * chains < Bucket::kSlots * bucket_count; }

// Chains of entries with ranges that have more are indexed; at about a dozen both
// cost the same.
constexpr unsigned kMaxWalk = 16;

const ClassifierEntry* FirstVisible(const ClassifierEntry* entry, uint64_t version) {
  while (entry != nullptr && !entry->VisibleAt(version)) entry = entry->next.load(std::memory_order_acquire);
  return entry;
}

}  // namespace

std::unique_ptr<BucketArray, BucketArray::Delete> BucketArray::New(uint64_t bucket_count) {
  void* memory = ::operator new ((bucket_count + 1) * sizeof(Bucket), std::align_val_t{alignof(Bucket)});
  std::unique_ptr<BucketArray, Delete> array(new (memory) BucketArray{bucket_count - 1});
  for (uint64_t i = 0; i < bucket_count; ++i) new (&(*array)[i]) Bucket;
  return array;
}

void BucketArray::Delete::operator()(BucketArray* array) const {
  ::operator delete (array, std::align_val_t{alignof(Bucket)});
}

Subtable::Subtable(ClassifierTable& table, const PacketKey& mask, const HashKey& hash_key, unsigned worker_count)
    : buckets_(BucketArray::New(1).release()),
      counts_(std::make_unique<Counts[]>(worker_count)),
      hash_key_(hash_key),
      ranged_(HasRanges(mask)),
      standing{table},
      mask_(mask) {
  for (uint8_t i = 0; i < kKeyWords; ++i) {
    if (WordOf(mask, i) == 0) continue;
    word_index_[word_count_] = i;
    word_mask_[word_count_] = WordOf(mask, i);
    ++word_count_;
  }
}

Subtable::~Subtable() { BucketArray::Delete()(buckets_.load(std::memory_order_relaxed)); }

void Subtable::Prefetch() const {
  __builtin_prefetch(&buckets_);
  __builtin_prefetch(&word_mask_);
}

Subtable::Probe Subtable::Aim(const PacketKey& key) const {
  const Probe probe{buckets_.load(std::memory_order_acquire), HashOf(key)};
  __builtin_prefetch(&(*probe.array)[probe.hash & probe.array->last]);
  return probe;
}

bool Subtable::Likely(const Probe& probe) {
  const Bucket& bucket = (*probe.array)[probe.hash & probe.array->last];
  const uint64_t tags = bucket.tags.load(std::memory_order_acquire);
  const uint64_t slots = SlotsWithTag(tags, TagOf(probe.hash));
  if (slots == 0) return Overflowed(tags);
  __builtin_prefetch(bucket.heads[FirstSlot(slots)].load(std::memory_order_relaxed));
  return true;
}

const ClassifierEntry* Subtable::Visible(const Probe& probe, const PacketKey& key, uint64_t version) const {
  const ClassifierEntry* chain = Find(*probe.array, probe.hash, key);
  return ranged_ ? FirstInRange(chain, key, version) : FirstVisible(chain, version);
}

uint32_t Subtable::Lookup(const PacketKey* keys, uint32_t pending, uint64_t version,
                          const ClassifierEntry** found) const {
  Probe probes[kBatch];
  for (uint32_t left = pending; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    probes[i] = Aim(keys[i]);
  }
  uint32_t likely = 0;
  for (uint32_t left = pending; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (Likely(probes[i])) likely |= uint32_t{1} << i;
  }
  uint32_t matched = 0;
  for (uint32_t left = likely; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    found[i] = Visible(probes[i], keys[i], version);
    if (found[i] != nullptr) matched |= uint32_t{1} << i;
  }
  return matched;
}

const ClassifierEntry* Subtable::Find(const BucketArray& array, uint64_t hash, const PacketKey& key) const {
  const uint64_t tag = TagOf(hash);
  for (uint64_t step = 0; step <= array.last; ++step) {
    const Bucket& bucket = array[(hash + step) & array.last];
    const uint64_t tags = bucket.tags.load(std::memory_order_acquire);
    for (uint64_t slots = SlotsWithTag(tags, tag); slots != 0; slots &= slots - 1) {
      const ClassifierEntry* head = bucket.heads[FirstSlot(slots)].load(std::memory_order_acquire);
      if (SameKey(key, *head)) return head;
    }
    if (!Overflowed(tags)) break;
  }
  return nullptr;
}

uint64_t Subtable::HashOf(const PacketKey& key) const {
  uint64_t hash = hash_key_.seed;
  for (unsigned i = 0; i < word_count_; ++i) {
    hash = MixWord(hash, WordOf(key, word_index_[i]) & word_mask_[i], hash_key_.multiplier);
  }
  return FinishHash(hash, hash_key_);
}

uint64_t Subtable::HashOfWords(const uint64_t* words) const {
  uint64_t hash = hash_key_.seed;
  for (unsigned i = 0; i < word_count_; ++i) hash = MixWord(hash, words[i], hash_key_.multiplier);
  return FinishHash(hash, hash_key_);
}

bool Subtable::SameKey(const PacketKey& key, const ClassifierEntry& entry) const {
  uint64_t difference = 0;
  for (unsigned i = 0; i < word_count_; ++i) {
    difference |= (WordOf(key, word_index_[i]) & word_mask_[i]) ^ entry.words()[i];
  }
  return difference == 0;
}

PortRanges Subtable::RangesOf(const uint64_t* words) const { return std::bit_cast<PortRanges>(words[word_count_]); }

const ClassifierEntry* Subtable::FirstInRange(const ClassifierEntry* entry, const PacketKey& key,
                                              uint64_t version) const {
  const Ports ports = PortsOf(key);
  if (entry == nullptr) return nullptr;
  if (const RangeChain* chain = RangeChain::From(entry)) return chain->First(ports, version);
  while (entry != nullptr && !(RangesOf(entry->words()).Contain(ports) && entry->VisibleAt(version))) {
    entry = entry->next.load(std::memory_order_acquire);
  }
  return entry;
}

void Subtable::AddMatching(const PacketKey& key, std::vector<const ClassifierEntry*>& entries) const {
  const Ports ports = PortsOf(key);
  for (const ClassifierEntry* entry = Find(*buckets_.load(std::memory_order_relaxed), HashOf(key), key);
       entry != nullptr; entry = entry->next.load(std::memory_order_relaxed)) {
    const bool is_flow = RangeChain::From(entry) == nullptr;
    if (is_flow && entry->Alive() && (!ranged_ || RangesOf(entry->words()).Contain(ports))) entries.push_back(entry);
  }
}

void Subtable::Pack(const Match& match, uint64_t* words) const {
  for (unsigned i = 0; i < word_count_; ++i) words[i] = WordOf(match.value, word_index_[i]) & word_mask_[i];
  if (ranged_) words[word_count_] = std::bit_cast<uint64_t>(match.ports);
}

Match Subtable::Unpack(const uint64_t* words) const {
  Match match{.mask = mask_};
  for (unsigned i = 0; i < word_count_; ++i) SetWord(match.value, word_index_[i], words[i]);
  if (ranged_) match.ports = RangesOf(words);
  return match;
}

ClassifierEntry* Subtable::FindAlive(const Match& match, uint16_t priority) const {
  const BucketArray& array = *buckets_.load(std::memory_order_relaxed);
  const ClassifierEntry* entry = Find(array, HashOf(match.value), match.value);
  if (entry == nullptr) return nullptr;
  if (const RangeChain* chain = RangeChain::From(entry)) return chain->FindAlive(match.ports, priority);
  for (; entry != nullptr; entry = entry->next.load(std::memory_order_relaxed)) {
    if (PriorityOf(entry->rank) != priority || !entry->Alive()) continue;
    if (!ranged_ || RangesOf(entry->words()) == match.ports) break;
  }
  return const_cast<ClassifierEntry*>(entry);
}

std::optional<Subtable::Place> Subtable::PlaceOf(uint64_t hash, const uint64_t* words) const {
  const BucketArray& array = *buckets_.load(std::memory_order_relaxed);
  const uint64_t tag = TagOf(hash);
  for (uint64_t step = 0; step <= array.last; ++step) {
    const uint64_t i = (hash + step) & array.last;
    const uint64_t tags = array[i].tags.load(std::memory_order_relaxed);
    for (uint64_t slots = SlotsWithTag(tags, tag); slots != 0; slots &= slots - 1) {
      const unsigned slot = FirstSlot(slots);
      const ClassifierEntry* head = array[i].heads[slot].load(std::memory_order_relaxed);
      if (std::equal(words, words + word_count_, head->words())) return Place{i, slot};
    }
    if (!Overflowed(tags)) break;
  }
  return std::nullopt;
}

void Subtable::Link(ClassifierEntry* entry, Garbage& garbage) {
  ++linked_;
  const uint64_t hash = HashOfWords(entry->words());
  const std::optional<Place> place = PlaceOf(hash, entry->words());
  if (!place.has_value()) {
    const uint64_t bucket_count = buckets_.load(std::memory_order_relaxed)->last + 1;
    if (Crowded(++chains_, bucket_count)) Resize(2 * bucket_count, garbage);
    return PutHead(*buckets_.load(std::memory_order_relaxed), hash, entry);
  }
  // Before others of its rank: the newest version of a flow is found first.
  std::atomic<ClassifierEntry*>* link = &(*buckets_.load(std::memory_order_relaxed))[place->bucket].heads[place->slot];
  ClassifierEntry* next = link->load(std::memory_order_relaxed);
  if (RangeChain* chain = RangeChain::From(next)) {
    chain->Link(entry);
    if (chain->Note()) changed_chains_.push_back(chain);
    return;
  }
  std::atomic<ClassifierEntry*>& head = *link;
  while (next != nullptr && next->rank > entry->rank) {
    link = &next->next;
    next = link->load(std::memory_order_relaxed);
  }
  entry->next.store(next, std::memory_order_relaxed);
  link->store(entry, std::memory_order_release);
  if (ranged_) IndexIfLong(head);
}

void Subtable::IndexIfLong(std::atomic<ClassifierEntry*>& head) {
  ClassifierEntry* const first = head.load(std::memory_order_relaxed);
  unsigned length = 0;
  for (const ClassifierEntry* entry = first; entry != nullptr; entry = entry->next.load(std::memory_order_relaxed)) {
    ++length;
  }
  if (length <= kMaxWalk) return;
  auto chain = std::make_unique<RangeChain>(first, word_count_);
  head.store(chain.get(), std::memory_order_release);
  range_chains_.emplace(chain.get(), std::move(chain));
}

void Subtable::PublishIndexes(Garbage& garbage) {
  // One that is empty is waste, and still there.
  for (RangeChain* chain : changed_chains_) {
    if (!chain->empty()) chain->Publish(garbage);
  }
  changed_chains_.clear();
}

void Subtable::Unlink(ClassifierEntry* entry, Garbage& garbage) {
  --linked_;
  const uint64_t hash = HashOfWords(entry->words());
  const Place place = *PlaceOf(hash, entry->words());
  BucketArray& array = *buckets_.load(std::memory_order_relaxed);
  std::atomic<ClassifierEntry*>* const head = &array[place.bucket].heads[place.slot];
  if (RangeChain* chain = RangeChain::From(head->load(std::memory_order_relaxed))) {
    chain->Unlink(entry);
    if (chain->Note()) changed_chains_.push_back(chain);
    if (!chain->empty()) return;
    garbage.Add(std::move(range_chains_.extract(chain).mapped()));
  } else {
    ClassifierEntry* const next = entry->next.load(std::memory_order_relaxed);
    std::atomic<ClassifierEntry*>* link = head;
    while (link->load(std::memory_order_relaxed) != entry) link = &link->load(std::memory_order_relaxed)->next;
    if (link != head || next != nullptr) return link->store(next, std::memory_order_release);
  }
  RemoveHead(place, hash);
  --chains_;
  if (array.last > 0 && Sparse(chains_, array.last + 1)) Resize((array.last + 1) / 2, garbage);
}

void Subtable::RemoveHead(const Place& place, uint64_t hash) {
  BucketArray& array = *buckets_.load(std::memory_order_relaxed);
  Bucket& bucket = array[place.bucket];
  const uint64_t tags = bucket.tags.load(std::memory_order_relaxed);
  bucket.tags.store(tags & ~(uint64_t{0xff} << (8 * place.slot)), std::memory_order_release);
  for (uint64_t i = hash & array.last; i != place.bucket; i = (i + 1) & array.last) {
    const uint64_t passed = array[i].tags.load(std::memory_order_relaxed);
    if (passed < kOverflowMax) array[i].tags.store(passed - kOverflowOne, std::memory_order_release);
  }
}

void Subtable::Resize(uint64_t bucket_count, Garbage& garbage) {
  BucketArray* old = buckets_.load(std::memory_order_relaxed);
  auto array = BucketArray::New(bucket_count);
  for (uint64_t i = 0; i <= old->last; ++i) {
    const uint64_t tags = (*old)[i].tags.load(std::memory_order_relaxed);
    for (uint64_t used = tags & kTopBitOfSlots; used != 0; used &= used - 1) {
      ClassifierEntry* head = (*old)[i].heads[FirstSlot(used)].load(std::memory_order_relaxed);
      PutHead(*array, HashOfWords(head->words()), head);
    }
  }
  buckets_.store(array.release(), std::memory_order_release);
  garbage.Add(std::unique_ptr<BucketArray, BucketArray::Delete>(old));
}

}  // namespace sluice
