#include "client/pcapng.h"

#include <cstring>
#include <utility>

namespace sluice::client {
namespace {

constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kInterfaceStatistics = 5;
constexpr uint32_t kEnhancedPacket = 6;

constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint16_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr uint32_t kUnlimited = 262'144;

// Options: of any block, and of each kind.
constexpr uint16_t kEndOfOptions = 0;
constexpr uint16_t kComment = 1;
constexpr uint16_t kUserApplication = 4;
constexpr uint16_t kInterfaceName = 2;
constexpr uint16_t kTimeResolution = 9;
constexpr uint16_t kPacketFlags = 2;
constexpr uint16_t kStatisticsEnd = 3;
constexpr uint16_t kDelivered = 8;

constexpr char kNanoseconds = 9;  // ten to the power of minus this

// A string's length in an option has 16 bits.
absl::string_view Cut(absl::string_view text) { return text.substr(0, 0xffff); }

template <typename T>
absl::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

PcapngWriter::PcapngWriter(absl::string_view application, uint32_t snap_length)
    : snap_length_(snap_length == 0 ? kUnlimited : snap_length) {
  Begin(kSectionHeader);
  Put(kByteOrderMagic);
  Put(uint16_t{1});  // version 1.0
  Put(uint16_t{0});
  Put(~uint32_t{0});  // the section's length is not known
  Put(~uint32_t{0});
  PutOption(kUserApplication, application);
  PutOption(kEndOfOptions, {});
  End();
}

uint32_t PcapngWriter::AddInterface(absl::string_view name) {
  Begin(kInterfaceDescription);
  Put(kEthernet);
  Put(uint16_t{0});
  Put(snap_length_);
  PutOption(kInterfaceName, name);
  PutOption(kTimeResolution, BytesOf(kNanoseconds));
  PutOption(kEndOfOptions, {});
  End();
  return interfaces_++;
}

void PcapngWriter::AddPacket(const Packet& packet) {
  Begin(kEnhancedPacket);
  Put(packet.interface);
  PutTime(packet.time_unix_ns);
  Put(static_cast<uint32_t>(packet.data.size()));
  Put(packet.length);
  PutBytes(packet.data);
  if (!packet.comment.empty()) PutOption(kComment, packet.comment);
  PutOption(kPacketFlags, BytesOf(packet.direction));
  PutOption(kEndOfOptions, {});
  End();
}

void PcapngWriter::AddStatistics(uint32_t interface, int64_t time_unix_ns, uint64_t written,
                                 absl::string_view comment) {
  Begin(kInterfaceStatistics);
  Put(interface);
  PutTime(time_unix_ns);
  if (!comment.empty()) PutOption(kComment, comment);
  const uint32_t end[2] = {static_cast<uint32_t>(static_cast<uint64_t>(time_unix_ns) >> 32),
                           static_cast<uint32_t>(time_unix_ns)};
  PutOption(kStatisticsEnd, BytesOf(end));
  PutOption(kDelivered, BytesOf(written));
  PutOption(kEndOfOptions, {});
  End();
}

std::string PcapngWriter::Take() { return std::exchange(out_, {}); }

void PcapngWriter::Begin(uint32_t type) {
  begin_ = out_.size();
  Put(type);
  Put(uint32_t{0});  // the length, once it is known
}

void PcapngWriter::Put(uint16_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
void PcapngWriter::Put(uint32_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }

void PcapngWriter::PutTime(int64_t time_unix_ns) {
  Put(static_cast<uint32_t>(static_cast<uint64_t>(time_unix_ns) >> 32));
  Put(static_cast<uint32_t>(time_unix_ns));
}

void PcapngWriter::PutOption(uint16_t code, absl::string_view value) {
  value = Cut(value);
  Put(code);
  Put(static_cast<uint16_t>(value.size()));
  PutBytes(value);
}

void PcapngWriter::PutBytes(absl::string_view bytes) {
  out_.append(bytes.data(), bytes.size());
  out_.append(-bytes.size() % 4, '\0');
}

void PcapngWriter::End() {
  const auto length = static_cast<uint32_t>(out_.size() - begin_ + sizeof(uint32_t));
  std::memcpy(&out_[begin_ + sizeof(uint32_t)], &length, sizeof length);
  Put(length);
}

}  // namespace sluice::client
