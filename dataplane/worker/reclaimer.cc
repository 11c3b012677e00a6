#include "dataplane/worker/reclaimer.h"

#include <rte_rcu_qsbr.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace sluice {
namespace {

using std::chrono::microseconds;

constexpr microseconds kShortestWait{10};
constexpr microseconds kLongestWait{500};

struct FreeState {
  void operator()(rte_rcu_qsbr* state) const { std::free(state); }
};
using State = std::unique_ptr<rte_rcu_qsbr, FreeState>;

State NewState(unsigned max_workers) {
  const size_t bytes =
      (rte_rcu_qsbr_get_memsize(max_workers) + RTE_CACHE_LINE_SIZE - 1) & ~size_t{RTE_CACHE_LINE_SIZE - 1};
  State state(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)));
  if (state == nullptr) throw std::bad_alloc();
  rte_rcu_qsbr_init(state.get(), max_workers);
  for (unsigned worker = 0; worker < max_workers; ++worker) rte_rcu_qsbr_thread_register(state.get(), worker);
  return state;
}

}  // namespace

class Reclaimer::Impl {
 public:
  explicit Impl(unsigned max_workers) : state_(NewState(std::max(1u, max_workers))), thread_([this] { Run(); }) {}
  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    filled_.notify_one();
    thread_.join();
  }

  void AfterGrace(std::function<void()> fn);
  void Flush();
  rte_rcu_qsbr* state() { return state_.get(); }

 private:
  struct Item {
    uint64_t token;
    uint64_t generation;
    std::function<void()> fn;
  };

  void Run();
  std::deque<Item> NextItems();
  void RunItem(Item& item);
  void WaitFor(uint64_t token);

  const State state_;
  // Not absl::Mutex: ThreadSanitizer does not see into the distribution's.
  std::mutex mutex_;  // guards what follows
  std::condition_variable filled_;
  std::condition_variable finished_;
  std::deque<Item> queue_;
  // Flush starts a new generation and waits for those before. What an item hands
  // over belongs to the item's generation.
  uint64_t generation_ = 0;
  uint64_t running_generation_ = 0;
  std::map<uint64_t, size_t> unfinished_;  // by generation
  bool stop_ = false;
  std::thread thread_;
};

void Reclaimer::Impl::AfterGrace(std::function<void()> fn) {
  std::lock_guard lock(mutex_);
  const bool from_item = std::this_thread::get_id() == thread_.get_id();
  const uint64_t generation = from_item ? running_generation_ : generation_;
  ++unfinished_[generation];
  queue_.push_back({rte_rcu_qsbr_start(state_.get()), generation, std::move(fn)});
  filled_.notify_one();
}

void Reclaimer::Impl::Flush() {
  std::unique_lock lock(mutex_);
  const uint64_t last = generation_++;
  finished_.wait(lock, [this, last] { return unfinished_.empty() || unfinished_.begin()->first > last; });
}

void Reclaimer::Impl::Run() {
  // Waits are short; the usual slack of 50 us would double them.
  prctl(PR_SET_TIMERSLACK, 1000);
  for (std::deque<Item> items = NextItems(); !items.empty(); items = NextItems()) {
    for (Item& item : items) RunItem(item);
  }
}

// None: it is time to stop.
std::deque<Reclaimer::Impl::Item> Reclaimer::Impl::NextItems() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [this] { return stop_ || !queue_.empty(); });
  return std::exchange(queue_, {});
}

void Reclaimer::Impl::RunItem(Item& item) {
  WaitFor(item.token);
  {
    std::lock_guard lock(mutex_);
    running_generation_ = item.generation;
  }
  item.fn();
  item.fn = nullptr;  // what it holds goes before it counts as finished
  std::lock_guard lock(mutex_);
  if (--unfinished_[item.generation] > 0) return;
  unfinished_.erase(item.generation);
  finished_.notify_all();
}

void Reclaimer::Impl::WaitFor(uint64_t token) {
  for (microseconds wait = kShortestWait; rte_rcu_qsbr_check(state_.get(), token, false) == 0;
       wait = std::min(2 * wait, kLongestWait)) {
    std::this_thread::sleep_for(wait);
  }
}

Reclaimer::Reclaimer(unsigned max_workers) : impl_(std::make_unique<Impl>(max_workers)) {}
Reclaimer::~Reclaimer() = default;

void Reclaimer::AfterGrace(std::function<void()> fn) { impl_->AfterGrace(std::move(fn)); }
void Reclaimer::Flush() { impl_->Flush(); }

void Reclaimer::Online(unsigned worker) { rte_rcu_qsbr_thread_online(impl_->state(), worker); }
void Reclaimer::Quiescent(unsigned worker) { rte_rcu_qsbr_quiescent(impl_->state(), worker); }
void Reclaimer::Offline(unsigned worker) { rte_rcu_qsbr_thread_offline(impl_->state(), worker); }

}  // namespace sluice
