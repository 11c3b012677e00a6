// What a worker must not do while packets pass: allocate, lock, call the kernel.
//
// The test runs rounds of a worker between two real devices in a thread of its
// own, with the allocator and mutexes replaced by ones that count and, by a
// seccomp filter, every system call trapped.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "dataplane/port/ethdev_port.h"
#include "dataplane/worker/placement.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace {

thread_local bool watched = false;
std::atomic<int> allocations{0};
std::atomic<int> locks{0};
std::atomic<int> system_calls{0};
std::atomic<int> last_system_call{-1};

}  // namespace

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_TEST_SANITIZED
#endif

// Sanitizers have replaced these already.
#ifndef SLUICE_TEST_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  if (watched) ++allocations;
  return __libc_malloc(size);
}
void free(void* memory) {
  if (watched && memory != nullptr) ++allocations;
  __libc_free(memory);
}
void* calloc(size_t n, size_t size) {
  if (watched) ++allocations;
  return __libc_calloc(n, size);
}
void* realloc(void* memory, size_t size) {
  if (watched) ++allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (watched) ++allocations;
  return __libc_memalign(alignment, size);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (watched) ++locks;
  return next(mutex);
}
}
#endif

namespace sluice {
namespace {

// Sanitizers call the kernel for themselves.
#ifdef SLUICE_TEST_SANITIZED
void TrapSystemCalls() {}
#else
// Traps every system call of this thread but those by which a handler returns
// and a thread ends. (Memory and locks are watched where they are asked for.)
void TrapSystemCalls() {
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    if (!watched) return;
    ++system_calls;
    last_system_call = info->si_syscall;
  };
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSYS, &action, nullptr), 0);
  constexpr std::array<unsigned, 7> kAllowed = {SYS_rt_sigreturn, SYS_exit,           SYS_madvise, SYS_munmap,
                                                SYS_mmap,         SYS_rt_sigprocmask, SYS_futex};
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (size_t i = 0; i < kAllowed.size(); ++i) {
    const auto to_allow = static_cast<uint8_t>(kAllowed.size() - i);
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kAllowed[i], to_allow, 0));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}
#endif

std::unique_ptr<EthdevPort> Open(const std::string& devargs) {
  auto port = EthdevPort::Open({.devargs = devargs, .buffer_bytes = kTestBufferBytes, .pool = TestPool()});
  EXPECT_TRUE(port.ok()) << port.status();
  return *std::move(port);
}

TEST(PacketPathTest, NoAllocationNoLockNoSystemCall) {
  TestSwitch test_switch;
  const std::unique_ptr<EthdevPort> in = Open("net_null0,size=60,copy=1");
  const std::unique_ptr<EthdevPort> out = Open("net_null1,no-rx=1");
  ASSERT_TRUE(test_switch.engine().Attach(*in, 1, {}).ok());
  ASSERT_TRUE(test_switch.engine().Attach(*out, 2, {}).ok());
  test_switch.engine().ListenForPackets(true);
  // Sets, pushes, copies, controllers, learning: what may need memory.
  test_switch.AddFlow({}, {SetTo(Field::kEthDst, 1), OutputTo(2), Action{.type = ActionType::kPushVlan, .tpid = 0x8100},
                           Action{.type = ActionType::kController, .port = 20}, Of(ActionType::kOutputNormal),
                           Of(ActionType::kOutputAll)});
  uint64_t moved = 0;
  std::thread([&] {
    Worker& worker = test_switch.engine().worker(0);
    for (int i = 0; i < 100; ++i) worker.RunOnce();
    TrapSystemCalls();
    watched = true;
    for (int i = 0; i < 10000; ++i) moved += worker.RunOnce();
    watched = false;
  }).join();
  EXPECT_EQ(moved, 320000u);
  EXPECT_EQ(test_switch.engine().StatsOf(2)->transmit_packets, 3 * (moved + 3200));
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  EXPECT_EQ(system_calls, 0) << "the last was " << last_system_call;
  ASSERT_TRUE(test_switch.engine().Detach(1).ok());
  ASSERT_TRUE(test_switch.engine().Detach(2).ok());
}

#ifndef SLUICE_TEST_SANITIZED
// The test itself: what it watches for, it sees.
TEST(PacketPathTest, WatchesSee) {
  std::thread([] {
    TrapSystemCalls();
    watched = true;
    syscall(SYS_getppid);
    void* volatile memory = malloc(1);  // volatile: or no call is left
    free(memory);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    watched = false;
    pthread_mutex_unlock(&mutex);
  }).join();
  EXPECT_EQ(system_calls.exchange(0), 1);
  EXPECT_EQ(last_system_call, SYS_getppid);
  EXPECT_GT(allocations.exchange(0), 0);
  EXPECT_EQ(locks.exchange(0), 1);
}
#endif

// EAL pins its caller; that must not last.
TEST(PacketPathTest, ThisThreadIsNotOnTheWorkersCpu) {
  TestPool();
  const std::vector<unsigned> now = AllowedCpus().value();
  std::vector<unsigned> allowed;
  std::thread([&] {
    std::vector<unsigned> all(1024);
    for (unsigned i = 0; i < all.size(); ++i) all[i] = i;
    ASSERT_TRUE(PinThisThread(all).ok());
    allowed = AllowedCpus().value();
  }).join();
  const Placement placement = PlaceWorkers(allowed, {}, 1).value();
  EXPECT_EQ(now, placement.control_cpus);
}

}  // namespace
}  // namespace sluice
