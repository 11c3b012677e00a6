#include "client/flow_text_value.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace sluice::client {
namespace {

struct FragmentWord {
  const char* word;
  ValueMask vm;
};
const std::array<FragmentWord, 5> kFragmentWords = {
    {{"no", {0, 3}}, {"yes", {1, 1}}, {"first", {1, 3}}, {"later", {3, 3}}, {"not_later", {0, 2}}}};

absl::Status Bad(absl::string_view what, absl::string_view text, absl::string_view expected) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " has no value; expected ", expected));
  return absl::InvalidArgumentError(absl::StrCat(what, ": \"", text, "\" is not understood; expected ", expected));
}

bool ParseMac(absl::string_view text, absl::uint128& out) {
  uint64_t value = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  for (int group = 0; group < 6; ++group) {
    if (group > 0 && (p == end || *p++ != ':')) return false;
    unsigned byte = 0;
    const auto [next, error] = std::from_chars(p, end, byte, 16);
    if (error != std::errc() || next - p > 2 || byte > 0xff) return false;
    value = value << 8 | byte;
    p = next;
  }
  out = value;
  return p == end;
}

bool ParseIpv4(absl::string_view text, absl::uint128& out) {
  char buffer[INET_ADDRSTRLEN];
  in_addr address;
  if (text.size() >= sizeof buffer) return false;
  buffer[text.copy(buffer, text.size())] = '\0';
  if (inet_pton(AF_INET, buffer, &address) != 1) return false;
  out = ntohl(address.s_addr);
  return true;
}

bool ParseIpv6(absl::string_view text, absl::uint128& out) {
  char buffer[INET6_ADDRSTRLEN];
  in6_addr address;
  if (text.size() >= sizeof buffer) return false;
  buffer[text.copy(buffer, text.size())] = '\0';
  if (inet_pton(AF_INET6, buffer, &address) != 1) return false;
  out = 0;
  for (uint8_t byte : address.s6_addr) out = (out << 8) | byte;
  return true;
}

using AddressParser = bool (*)(absl::string_view, absl::uint128&);

// ADDRESS, ADDRESS/MASK, or with prefixes ADDRESS/LENGTH.
absl::StatusOr<ValueMask> ParseAddress(const FieldInfo& field, absl::string_view what, absl::string_view text,
                                       AddressParser parse, bool prefixes, absl::string_view expected) {
  ValueMask vm{0, field.all_ones};
  const size_t slash = text.find('/');
  if (!parse(text.substr(0, slash), vm.value)) return Bad(what, text, expected);
  if (slash == absl::string_view::npos) return vm;
  const absl::string_view mask = text.substr(slash + 1);
  uint64_t length = 0;
  const bool number = prefixes && mask.find_first_not_of("0123456789") == absl::string_view::npos && !mask.empty();
  if (!number) return parse(mask, vm.mask) ? absl::StatusOr<ValueMask>(vm) : Bad(what, text, expected);
  const uint64_t bits = field.options.bits();
  if (!ParseNumber(mask, length) || length > bits) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": prefix length \"", mask, "\" is out of range; expected 0 to ", bits));
  }
  vm.mask = length == 0 ? absl::uint128{0} : (field.all_ones << (bits - length)) & field.all_ones;
  return vm;
}

absl::StatusOr<ValueMask> ParseFragment(absl::string_view what, absl::string_view text) {
  for (const FragmentWord& entry : kFragmentWords) {
    if (absl::EqualsIgnoreCase(text, entry.word)) return entry.vm;
  }
  return Bad(what, text, "no, yes, first, later or not_later");
}

constexpr std::array<const char*, 12> kTcpFlags = {"fin", "syn", "rst", "psh",   "ack",   "urg",
                                                   "ece", "cwr", "ns",  "[200]", "[400]", "[800]"};
constexpr absl::string_view kTcpFlagsExpected =
    "names joined by | for all flags (syn|ack), each with + or - for some (+syn-ack), or VALUE/MASK, 0 to 0xfff";

// The bit of the flag; 0: there is no such flag.
uint64_t TcpFlag(absl::string_view name) {
  for (size_t i = 0; i < kTcpFlags.size(); ++i) {
    if (name == kTcpFlags[i]) return uint64_t{1} << i;
  }
  return 0;
}

// +syn-ack
absl::StatusOr<ValueMask> ParseSomeTcpFlags(absl::string_view what, absl::string_view text) {
  ValueMask vm;
  for (absl::string_view rest = text; !rest.empty();) {
    const bool set = rest.front() == '+';
    const absl::string_view name = rest.substr(1, rest.find_first_of("+-", 1) - 1);
    const uint64_t bit = TcpFlag(name);
    if (bit == 0) return Bad(what, text, kTcpFlagsExpected);
    if ((vm.mask & bit) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", text, " has ", name, " twice; expected it once"));
    }
    vm.mask |= bit;
    if (set) vm.value |= bit;
    rest.remove_prefix(1 + name.size());
  }
  return vm;
}

absl::StatusOr<ValueMask> ParseTcpFlags(const FieldInfo& field, absl::string_view what, absl::string_view text) {
  if (text.empty()) return Bad(what, text, kTcpFlagsExpected);
  if (text.front() == '+' || text.front() == '-') return ParseSomeTcpFlags(what, text);
  if (absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) {
    return ParseMaskedNumber(what, text, static_cast<int>(field.options.bits()));
  }
  ValueMask vm{0, field.all_ones};
  for (const absl::string_view name : absl::StrSplit(text, '|')) {
    const uint64_t bit = TcpFlag(name);
    if (bit == 0) return Bad(what, text, kTcpFlagsExpected);
    vm.value |= bit;
  }
  return vm;
}

std::string FormatTcpFlags(const FieldInfo& field, const ValueMask& vm) {
  const bool all = vm.mask == field.all_ones;
  std::string text;
  for (size_t i = 0; i < kTcpFlags.size(); ++i) {
    const bool set = (vm.value >> i & 1) != 0;
    if (all && set) absl::StrAppend(&text, text.empty() ? "" : "|", kTcpFlags[i]);
    if (!all && (vm.mask >> i & 1) != 0) absl::StrAppend(&text, set ? "+" : "-", kTcpFlags[i]);
  }
  return text.empty() ? "0" : text;
}

std::string FormatMac(absl::uint128 value) {
  const uint64_t v = absl::Uint128Low64(value);
  return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", v >> 40 & 0xff, v >> 32 & 0xff, v >> 24 & 0xff,
                         v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff);
}

std::string FormatIpv4(absl::uint128 value) {
  const uint64_t v = absl::Uint128Low64(value);
  return absl::StrCat(v >> 24 & 0xff, ".", v >> 16 & 0xff, ".", v >> 8 & 0xff, ".", v & 0xff);
}

std::string FormatIpv6(absl::uint128 value) {
  in6_addr address;
  for (int i = 15; i >= 0; --i, value >>= 8) address.s6_addr[i] = absl::Uint128Low64(value) & 0xff;
  char buffer[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, &address, buffer, sizeof buffer);
}

// The prefix length that the mask is, or -1.
int PrefixLength(const FieldInfo& field, absl::uint128 mask) {
  const int bits = static_cast<int>(field.options.bits());
  const absl::uint128 rest = ~mask & field.all_ones;
  if ((rest & (rest + 1)) != 0) return -1;
  int length = bits;
  for (absl::uint128 r = rest; r != 0; r >>= 1) --length;
  return length;
}

std::string FormatAddress(const FieldInfo& field, const ValueMask& vm, std::string (*format)(absl::uint128)) {
  if (vm.mask == field.all_ones) return format(vm.value);
  const int length = field.options.format() == v1::FORMAT_MAC ? -1 : PrefixLength(field, vm.mask);
  if (length >= 0) return absl::StrCat(format(vm.value), "/", length);
  return absl::StrCat(format(vm.value), "/", format(vm.mask));
}

std::string FormatFragment(const ValueMask& vm) {
  for (const FragmentWord& entry : kFragmentWords) {
    if (entry.vm == vm) return entry.word;
  }
  return absl::StrCat(absl::Uint128Low64(vm.value), "/", absl::Uint128Low64(vm.mask));
}

std::string FormatPlain(const FieldInfo& field, const ValueMask& vm) {
  const uint64_t value = absl::Uint128Low64(vm.value);
  const bool masked = vm.mask != field.all_ones;
  if (vm.last != 0) return absl::StrCat(value, "-", vm.last);
  if (masked) return absl::StrCat(Hex(value), "/", Hex(absl::Uint128Low64(vm.mask)));
  if (field.options.format() != v1::FORMAT_HEXADECIMAL) return absl::StrCat(value);
  // What is wider mostly holds small numbers.
  constexpr uint32_t kPaddedBits = 20;
  const uint32_t bits = field.options.bits();
  return bits > kPaddedBits ? Hex(value) : absl::StrFormat("0x%0*x", static_cast<int>(bits / 4), value);
}

}  // namespace

std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

bool ParseNumber(absl::string_view text, uint64_t& out) {
  int base = 10;
  if (absl::StartsWithIgnoreCase(text, "0x")) {
    text.remove_prefix(2);
    base = 16;
  } else if (text.size() > 1 && text[0] == '0') {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

absl::StatusOr<uint64_t> ParseNumberIn(absl::string_view what, absl::string_view text, uint64_t min, uint64_t max) {
  uint64_t value = 0;
  const std::string range = absl::StrCat(min, " to ", max);
  if (!ParseNumber(text, value)) return Bad(what, text, absl::StrCat("a number, ", range, ", decimal or 0x…"));
  if (value < min || value > max) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", text, " is out of range; expected ", range));
  }
  return value;
}

absl::StatusOr<ValueMask> ParseMaskedNumber(absl::string_view what, absl::string_view text, int bits) {
  const uint64_t max = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const size_t slash = text.find('/');
  const absl::StatusOr<uint64_t> value = ParseNumberIn(what, text.substr(0, slash), 0, max);
  if (!value.ok()) return value.status();
  if (slash == absl::string_view::npos) return ValueMask{*value, max};
  const absl::StatusOr<uint64_t> mask = ParseNumberIn(absl::StrCat(what, "'s mask"), text.substr(slash + 1), 0, max);
  if (!mask.ok()) return mask.status();
  return ValueMask{*value, *mask};
}

absl::StatusOr<ValueMask> ParseValue(const FieldInfo& field, absl::string_view what, absl::string_view text) {
  if (text == "*") return ValueMask{};
  switch (field.options.format()) {
    case v1::FORMAT_MAC:
      return ParseAddress(field, what, text, ParseMac, false, "a MAC address, 02:00:00:00:00:0a, or MAC/MASK");
    case v1::FORMAT_IPV4:
      return ParseAddress(field, what, text, ParseIpv4, true, "an IPv4 address, ADDRESS/LENGTH or ADDRESS/MASK");
    case v1::FORMAT_IPV6:
      return ParseAddress(field, what, text, ParseIpv6, true, "an IPv6 address, ADDRESS/LENGTH or ADDRESS/MASK");
    case v1::FORMAT_FRAGMENT:
      return ParseFragment(what, text);
    case v1::FORMAT_TCP_FLAGS:
      return ParseTcpFlags(field, what, text);
    default:
      return ParseMaskedNumber(what, text, static_cast<int>(field.options.bits()));
  }
}

bool LooksLikeRange(const FieldInfo& field, absl::string_view text) {
  const bool number = field.options.format() == v1::FORMAT_DECIMAL || field.options.format() == v1::FORMAT_HEXADECIMAL;
  const size_t dash = text.substr(0, text.find('/')).find('-');
  return number && dash != absl::string_view::npos && dash > 0;
}

absl::StatusOr<ValueMask> ParseRange(const FieldInfo& field, absl::string_view what, absl::string_view text) {
  if (!field.rangeable()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " takes no range; expected a value, or a range of ports"));
  }
  if (absl::StrContains(text, '/')) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", text, " has a mask and a range; expected FIRST-LAST, or VALUE/MASK"));
  }
  const uint64_t all = absl::Uint128Low64(field.all_ones);
  const size_t dash = text.find('-');
  uint64_t first = 0, last = 0;
  if (!ParseNumber(text.substr(0, dash), first) || !ParseNumber(text.substr(dash + 1), last)) {
    return Bad(what, text, absl::StrCat("a number or FIRST-LAST, 0 to ", all, ", decimal or 0x…"));
  }
  if (first > all || last > all) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", text, " is out of range; expected 0 to ", all));
  }
  if (first > last) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", text, " ends below where it begins; expected ", last, "-", first));
  }
  const uint64_t rest = last - first;
  const bool prefix = (rest & (rest + 1)) == 0 && (first & rest) == 0;
  return prefix ? ValueMask{first, all & ~rest} : ValueMask{first, field.all_ones, last};
}

std::string FormatValue(const FieldInfo& field, const ValueMask& vm) {
  switch (field.options.format()) {
    case v1::FORMAT_MAC:
      return FormatAddress(field, vm, FormatMac);
    case v1::FORMAT_IPV4:
      return FormatAddress(field, vm, FormatIpv4);
    case v1::FORMAT_IPV6:
      return FormatAddress(field, vm, FormatIpv6);
    case v1::FORMAT_FRAGMENT:
      return FormatFragment(vm);
    case v1::FORMAT_TCP_FLAGS:
      return FormatTcpFlags(field, vm);
    default:
      return FormatPlain(field, vm);
  }
}

}  // namespace sluice::client
