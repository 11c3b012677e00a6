// The settings of lookup as people write them: KEY=VALUE, with the keys of the
// configuration. Pure; one thread.

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sluice/v1/switch_service.pb.h"

namespace sluice::client {

// What the assignments change. INVALID_ARGUMENT, with `command` before what is
// wrong and what would be right: an unknown key, a value that is none of the
// key's, a key given twice. What is out of range the switch refuses.
absl::StatusOr<v1::UpdateSettingsRequest> ParseSettings(const std::string& command,
                                                        const std::vector<std::string>& assignments);

// As ParseSettings takes them, a line each.
std::string FormatSettings(const v1::Settings& settings);

// The beginnings of assignments, as the type of a command line's option.
std::string SettingForms();

}  // namespace sluice::client
