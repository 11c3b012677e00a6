// Field values as text: numbers, MAC and IP addresses, fragment words, TCP flags,
// each with its mask. What is read is what ovs-ofctl(8) reads, but for numbers with a
// leading zero, which are refused: people who write 010 may mean 8 or 10.
//
// Errors are INVALID_ARGUMENT with "what is wrong; what was expected" and no
// place, which the caller knows. Pure functions; any thread.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/field_table.h"

namespace sluice::client {

// Decimal, or hexadecimal with 0x. False if it is neither or beyond 64 bits.
bool ParseNumber(absl::string_view text, uint64_t& out);

// A number from min to max; `what` names it in the error.
absl::StatusOr<uint64_t> ParseNumberIn(absl::string_view what, absl::string_view text, uint64_t min, uint64_t max);

// VALUE or VALUE/MASK of a plain number of so many bits.
absl::StatusOr<ValueMask> ParseMaskedNumber(absl::string_view what, absl::string_view text, int bits);

// VALUE or VALUE/MASK as the field's format has it; "*" is mask 0. Bits of the
// value outside the mask are kept for the caller to judge. `what` is the field's
// name as the user wrote it.
absl::StatusOr<ValueMask> ParseValue(const FieldInfo& field, absl::string_view what, absl::string_view text);

// True for FIRST-LAST of a field that is a number, right or wrong.
bool LooksLikeRange(const FieldInfo& field, absl::string_view text);
// FIRST-LAST, which a match may say of a rangeable field; as a mask if that can say it.
absl::StatusOr<ValueMask> ParseRange(const FieldInfo& field, absl::string_view what, absl::string_view text);

// The opposite: FIRST-LAST, VALUE if the mask is the whole field, else VALUE/MASK.
std::string FormatValue(const FieldInfo& field, const ValueMask& vm);

// 0x-hexadecimal, without leading zeros.
std::string Hex(uint64_t value);

}  // namespace sluice::client
